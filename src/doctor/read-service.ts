import type { CallOptions } from '../api/call.ts';
import { probeSession, readHistory, type SessionProbe } from '../api/history.ts';
import type { Http } from '../api/http.ts';
import { listOf, readItem } from '../api/list.ts';
import { type End, type ListOperation, readPages } from '../api/pages.ts';
import type { JsonObject } from '../contract/json.ts';
import type { SessionRef } from '../contract/messages.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { READERS, readAgent, readSpace } from '../contract/resources.ts';
import { SCOPE, type Scope } from '../contract/scopes.ts';
import { InterruptedError, NoOperationError, PartnerctlError } from '../errors.ts';

/** How much of a service is read. */
export interface ReadLimits extends Pick<CallOptions, 'retries' | 'timeoutMs'> {
  /** Of each list. */
  readonly maxItems: number;
}

/** A list that was read to check the token's scopes and the contract. */
export interface ListRead {
  readonly operation: ListOperation;
  /** `the list of spaces` */
  readonly what: string;
  readonly scope: Scope;
  readonly items: readonly JsonObject[];
  /** Without empty ones. */
  readonly pages: number;
  /** Whether the end of the list was proved; undefined if it was not read to its end. */
  readonly isWhole: boolean | undefined;
  /** Also for an item that cannot be decoded. */
  readonly error: PartnerctlError | undefined;
}

/** What was read of a service. */
export interface ServiceRead {
  /** Without those that the service does not have. */
  readonly lists: readonly ListRead[];
  /** Whether the history depends on the session; undefined if no source is known. */
  readonly session: SessionProbe | undefined;
}

/** A new space has no agents: of these, the first that has some is read. */
const MAX_SPACES = 10;

const LISTS = {
  spaces: { operation: OPERATIONS.listSpaces, what: 'the list of spaces', scope: SCOPE.readSpaces },
  agents: { operation: OPERATIONS.listAgents, what: 'the agents of a space', scope: SCOPE.readAgents },
  jobs: { operation: OPERATIONS.listCronJobs, what: 'the list of scheduled jobs', scope: SCOPE.listJobs },
  history: { operation: OPERATIONS.readHistory, what: 'the history of the session', scope: SCOPE.chat },
} as const;

/** Runs a step. @returns the error that it ended with @throws InterruptedError, and what is no PartnerctlError */
export async function errorOf(read: () => unknown): Promise<PartnerctlError | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    if (error instanceof PartnerctlError && !(error instanceof InterruptedError)) return error;
    throw error;
  }
}

/**
 * Reads what a service has, to check the token's scopes and the contract: the spaces, the agents of one space, the scheduled
 * jobs, and the history of a session if one is given. If a source is known, also asks for the history of a session that
 * does not exist. Sends only reads.
 * @throws InterruptedError
 */
export async function readService(http: Http, limits: ReadLimits, session?: SessionRef): Promise<ServiceRead> {
  const { maxItems, ...options } = limits;
  const list = (kind: 'spaces' | 'agents' | 'jobs', values: { readonly space_id?: string } = {}) => {
    const pages = readPages(http, { ...listOf(http, LISTS[kind].operation, { ...options, values }), asksShort: true });
    return readList(http, LISTS[kind], pages, maxItems);
  };
  const spaces = await list('spaces');
  let agents: ListRead | undefined;
  for (const space_id of valuesIn(spaces, (item) => readSpace(item, http.contract).space_id).slice(0, MAX_SPACES)) {
    agents = await list('agents', { space_id });
    if (agents.error || agents.items.length > 0) break;
  }
  const jobs = await list('jobs');
  const history = session && (await readList(http, LISTS.history, pagesOf(http, session), maxItems));
  const [source = session?.source_id] = valuesIn(agents, (item) => readAgent(item, http.contract).source_id);
  const lists = [spaces, agents, jobs, history].filter((each) => each !== undefined);
  return {
    lists: lists.filter(({ error }) => !(error instanceof NoOperationError)),
    session: source === undefined ? undefined : await probeSession(http, session?.source_id ?? source),
  };
}

interface ReadPage {
  readonly items: readonly JsonObject[];
  /** Only of the last page. */
  readonly end?: End | undefined;
}

async function* pagesOf(http: Http, session: SessionRef): AsyncGenerator<ReadPage> {
  for await (const page of readHistory(http, { ...session, after_message_id: undefined })) {
    const { messages, hasMore, unexplained } = page;
    yield { items: messages.map(({ raw }) => raw), end: hasMore || unexplained ? undefined : 'silent' };
  }
}

async function readList(
  http: Http,
  list: (typeof LISTS)[keyof typeof LISTS],
  read: AsyncIterable<ReadPage>,
  maxItems: number,
): Promise<ListRead> {
  const { operation } = list;
  const items: JsonObject[] = [];
  let [pages, isWhole]: [number, boolean | undefined] = [0, undefined];
  const error = await errorOf(async () => {
    for await (const page of read) {
      pages += page.items.length > 0 ? 1 : 0;
      items.push(...page.items.slice(0, maxItems - items.length));
      if (page.end !== undefined) isWhole = page.end !== 'not proved';
      else if (items.length >= maxItems) break;
    }
  });
  const decode = () => items.map((item) => readItem(operation, () => READERS[operation.leaf](item, http.contract)));
  return { ...list, items, pages, isWhole, error: error ?? (await errorOf(decode)) };
}

/** Returns the values that the items show. What cannot be decoded is the error of the list. */
function valuesIn(list: ListRead | undefined, decode: (item: JsonObject) => string | null | undefined) {
  return (list?.items ?? []).flatMap((item) => {
    try {
      return decode(item) ?? [];
    } catch {
      return [];
    }
  });
}

/** Says that the end of lists cannot be proved, which stops who acts on them as soon as they are long. */
export function describeUnproved(lists: readonly ListRead[]): { readonly message: string; readonly hint: string } {
  const commands = lists.map(({ operation }) => `partnerctl contract set ${operation.leaf}.next none`);
  return {
    message: `Nothing in ${joinNames(lists)} speaks of pages, and the service rejects the question for more: from ten items on, no command acts on it.`,
    hint: commands.map((command) => `If it is always whole, run: ${command}`).join('\n'),
  };
}

export function joinNames(lists: readonly ListRead[]): string {
  return new Intl.ListFormat('en-US').format(lists.map(({ what }) => what));
}
