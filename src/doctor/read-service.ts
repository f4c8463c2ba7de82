import type { ApiResponse } from '../api/api-response.ts';
import type { CallOptions } from '../api/call.ts';
import { readHistory } from '../api/history.ts';
import type { Http } from '../api/http.ts';
import { listOf, readItem } from '../api/list.ts';
import { type End, readPages } from '../api/pages.ts';
import { probeSession } from '../api/session-check.ts';
import type { JsonObject } from '../contract/json.ts';
import { readMessage, type SessionRef } from '../contract/messages.ts';
import { type ListOperation, OPERATIONS } from '../contract/operations.ts';
import { readAgent, readSpace } from '../contract/resources.ts';
import { InterruptedError, NoOperationError, PartnerctlError, ShapeError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';

/** A list that was read to check the token's scopes and the contract. */
export interface ListRead {
  readonly operation: ListOperation;
  readonly items: readonly JsonObject[];
  /** Without empty ones. */
  readonly pages: number;
  /** Whether the end of the list was proved; undefined if it was not read to its end. */
  readonly isWhole: boolean | undefined;
  /** Also for an item that cannot be decoded. */
  readonly error: PartnerctlError | undefined;
}

/** What the service answered: to a first call, and to those after it. */
export type Probe = Awaited<ReturnType<typeof probeService>>;

/** A check reports the current state. Few items show their shape and, usually, that of the second page. */
const PROBE = { retries: 0, timeoutMs: 10_000, maxItems: 50 };

/** A new space has no agents: of these, the first that has some is read. */
const MAX_SPACES = 10;

/** @throws InterruptedError, and what is no PartnerctlError */
async function errorOf(read: () => unknown): Promise<PartnerctlError | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    if (error instanceof PartnerctlError && !(error instanceof InterruptedError)) return error;
    throw error;
  }
}

/**
 * Requests the first page of a list that the service has, to see whether and how it responds, then reads the service,
 * unless that failed for a reason that applies to every call.
 * @returns the first response, when it arrived, in how many milliseconds, and what was read; no status without a response
 * @throws as `readService`
 */
export async function probeService(http: Http, clock: Clock) {
  const { contract } = http;
  const hasSpaces =
    contract.operation('spaces.list') !== undefined || contract.operation('cron_jobs.list') === undefined;
  const started = clock.now();
  let response: ApiResponse | undefined;
  const error = await errorOf(async () => {
    const outcome = await http.exchange(hasSpaces ? OPERATIONS.listSpaces : OPERATIONS.listCronJobs, PROBE);
    response = outcome.response;
    if (outcome.error) throw outcome.error;
    outcome.response.json();
  });
  const { status, headers = {} } = response ?? {};
  const at = clock.now();
  const isReadable = status === 403 || (status !== undefined && (!error || error instanceof ShapeError));
  const read = isReadable ? await readService(http, PROBE) : { lists: [], session: undefined };
  return { status, headers, error, at, ms: at - started, ...read };
}

/**
 * Reads what a service has, to check the token's scopes and the contract: the spaces, the agents of one space, the scheduled
 * jobs, and the history of a session if one is given. If a source is known, also asks for the history of a session that
 * does not exist. Sends only reads.
 * @param limits of each call, and of each list
 * @returns the lists that the service has; whether the history depends on the session, undefined if no source is known
 * @throws InterruptedError
 */
export async function readService(
  http: Http,
  { maxItems, ...limits }: Pick<CallOptions, 'retries' | 'timeoutMs'> & { readonly maxItems: number },
  session?: SessionRef,
) {
  const list = (operation: ListOperation, values = {}) =>
    readList(
      http,
      operation,
      readPages(http, { ...listOf(http, operation, { ...limits, values }), asksShort: true }),
      maxItems,
    );
  const spaces = await list(OPERATIONS.listSpaces);
  const lists = [spaces];
  let agents: ListRead | undefined;
  for (const item of spaces.error ? [] : spaces.items.slice(0, MAX_SPACES)) {
    agents = await list(OPERATIONS.listAgents, { space_id: readSpace(item, http.contract).space_id });
    if (agents.error || agents.items.length > 0) break;
  }
  if (agents) lists.push(agents);
  lists.push(await list(OPERATIONS.listCronJobs));
  const history = session && (await readList(http, OPERATIONS.readHistory, historyPages(http, session), maxItems));
  if (history) lists.push(history);
  const readable = agents && !agents.error ? agents.items : [];
  const [source] = readable.flatMap((item) => readAgent(item, http.contract).source_id ?? []);
  const source_id = session?.source_id ?? source;
  const entries = history && !history.error ? history.items : [];
  const known = new Set(entries.map((entry) => readMessage(entry, http.contract).message_id));
  return {
    lists: lists.filter(({ error }) => !(error instanceof NoOperationError)),
    session: source_id === undefined ? undefined : await probeSession(http, source_id, known),
  };
}

/** @param pages the last one has an end, unless the end is unknown */
async function readList(
  http: Http,
  operation: ListOperation,
  pages: AsyncIterable<{ readonly items: readonly JsonObject[]; readonly end?: End | undefined }>,
  maxItems: number,
): Promise<ListRead> {
  const items: JsonObject[] = [];
  let count = 0;
  let isWhole: boolean | undefined;
  const error = await errorOf(async () => {
    for await (const { items: sent, end } of pages) {
      count += sent.length > 0 ? 1 : 0;
      items.push(...sent.slice(0, maxItems - items.length));
      if (end !== undefined) isWhole = end !== 'not proved';
      else if (items.length >= maxItems) break;
    }
    for (const item of items) readItem(operation, () => operation.read(item, http.contract));
  });
  return { operation, items, pages: count, isWhole, error };
}

async function* historyPages(http: Http, session: SessionRef) {
  const pages = readHistory(http, { ...session, after_message_id: undefined });
  for await (const { messages, hasMore, unexplained } of pages) {
    const end = hasMore || unexplained ? undefined : ('stated' as const);
    yield { items: messages.map(({ raw }) => raw), end };
  }
}

export function joinNames(lists: readonly ListRead[]): string {
  return new Intl.ListFormat('en-US').format(lists.map(({ operation }) => operation.what));
}

/** Says that the end of lists cannot be proved, which stops who acts on them as soon as they are long. */
export function describeUnproved(lists: readonly ListRead[]): { readonly message: string; readonly hint: string } {
  const commands = lists.map(({ operation }) => `partnerctl contract set ${operation.leaf}.next none`);
  return {
    message: `Nothing in ${joinNames(lists)} speaks of pages, and the service rejects the question for more: from ten items on, no command acts on it.`,
    hint: commands.map((command) => `If it is always whole, run: ${command}`).join('\n'),
  };
}
