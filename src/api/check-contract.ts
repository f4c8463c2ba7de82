import { checkFields, type LeafCheck, type LeafFinding } from '../contract/check-fields.ts';
import { RESOURCE_OF } from '../contract/field-names.ts';
import { fieldsOf } from '../contract/fields.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { isLeafName, type LeafName, type ListLeaf } from '../contract/leaves.ts';
import { OPERATIONS } from '../contract/operations.ts';
import {
  InterruptedError,
  isBalanceTooLow,
  isRateLimited,
  isTokenRejected,
  NotFoundError,
  PartnerctlError,
  ServiceError,
} from '../errors.ts';
import { HistoryReader, missingIn404 } from './history.ts';
import type { Http } from './http.ts';
import { listItems } from './list.ts';
import { probeSession } from './session-probe.ts';

/** The session whose history is read. */
export interface CheckedSession {
  readonly source_id: string;
  readonly session_id: string;
}

/** Enough to see every field and to follow pages, without reading a whole service. */
const MAX_ITEMS = 500;

/** What was read of a list. */
interface ReadList {
  readonly items: readonly JsonObject[];
  readonly pages: number;
  /** Why the list could not be read to its end. */
  readonly error: PartnerctlError | undefined;
}

type Findings = Map<LeafName, LeafFinding>;

/** Whether an error says nothing of the contract: every call would get it, or it is an interruption. */
function saysNothing(error: unknown): boolean {
  if (error instanceof InterruptedError || error instanceof ServiceError) return true;
  return isTokenRejected(error) || isBalanceTooLow(error) || isRateLimited(error);
}

/** @throws errors that say nothing of the contract */
async function readUpTo(list: AsyncIterable<readonly JsonObject[]>): Promise<ReadList> {
  const items: JsonObject[] = [];
  let pages = 0;
  try {
    for await (const page of list) {
      pages += 1;
      items.push(...page.slice(0, MAX_ITEMS - items.length));
      if (items.length >= MAX_ITEMS) break;
    }
    return { items, pages, error: undefined };
  } catch (error) {
    if (!(error instanceof PartnerctlError) || saysNothing(error)) throw error;
    return { items, pages, error };
  }
}

/** Adds what a list says of its operation, its items, and its pages. */
function addList(findings: Findings, { contract }: Http, list: ListLeaf, { items, pages, error }: ReadList): void {
  for (const [leaf, finding] of checkFields(items, RESOURCE_OF[list], contract)) findings.set(leaf, finding);
  if (error) {
    addFailure(findings, list, error);
    return;
  }
  const read = { result: 'confirmed', detail: `read ${items.length} items in ${pages} pages` } as const;
  const none = { ...read, result: 'unobservable' } as const;
  findings.set(list, read);
  findings.set('paths.trailing_slash', read);
  findings.set(`${list}.items`, items.length > 0 ? read : none);
  findings.set(`${list}.next`, pages > 1 && contract.next(list).kind !== 'none' ? read : none);
}

/** Adds what a list that could not be read says of the leaf that the failure is about. */
function addFailure(findings: Findings, list: ListLeaf, error: PartnerctlError): void {
  const { message, info } = error;
  const { status = 200, why = '', details } = info;
  const detail = `${message} ${why.replaceAll('\n', ' ')}`.trim();
  const leaf = isJsonObject(details) ? details.leaf : undefined;
  if (status < 300 && typeof leaf === 'string' && isLeafName(leaf)) {
    findings.set(list, { result: 'confirmed', detail: `it answered with ${status}` });
    findings.set(leaf, { result: 'contradicted', detail });
    return;
  }
  // The history of an unknown source or session is not found, either.
  const isOfSession = list === 'messages.history' && error instanceof NotFoundError && missingIn404(error);
  findings.set(list, { result: status === 403 || isOfSession ? 'unobservable' : 'contradicted', detail });
}

/** Checks the agents of the first space. */
async function checkAgents(findings: Findings, http: Http, [space]: readonly JsonObject[]): Promise<void> {
  const space_id = space && fieldsOf(space, 'space', http.contract).id('space.id');
  if (space_id === undefined) return;
  const agents = listItems(http, OPERATIONS.listAgents, { values: { space_id } });
  addList(findings, http, 'agents.list', await readUpTo(agents.pages));
}

const PROBED: Readonly<Record<Awaited<ReturnType<typeof probeSession>>, LeafFinding>> = {
  heeded: { result: 'confirmed', detail: 'a session that does not exist has no messages' },
  ignored: { result: 'contradicted', detail: 'a session that does not exist has messages' },
  unknown: { result: 'unobservable', detail: 'the history of a session that does not exist could not be read' },
};

/** Checks the history of a session, and that of one that does not exist, which must not have the same messages. */
async function checkHistory(findings: Findings, http: Http, session: CheckedSession): Promise<void> {
  async function* pages() {
    for await (const { messages } of new HistoryReader(http).readAfter({ ...session, after_message_id: undefined }))
      yield messages.map(({ raw }) => raw);
  }
  const read = await readUpTo(pages());
  addList(findings, http, 'messages.history', read);
  const leaf = 'messages.history.session_id';
  if (read.error || read.items.length === 0 || http.contract.parameter(leaf) === undefined) return;
  findings.set(leaf, PROBED[await probeSession(http, session.source_id)]);
}

/**
 * Compares the contract with the service, by reads only: the spaces, the agents of one space, the scheduled jobs, and the
 * history of a session if one is given.
 * @throws PartnerctlError for a failure that says nothing of the contract
 */
export async function checkContract(http: Http, session: CheckedSession | undefined): Promise<readonly LeafCheck[]> {
  const findings: Findings = new Map();
  const spaces = await readUpTo(listItems(http, OPERATIONS.listSpaces).pages);
  addList(findings, http, 'spaces.list', spaces);
  if (findings.get('space.id')?.result !== 'contradicted') await checkAgents(findings, http, spaces.items);
  if (http.contract.operation('cron_jobs.list') !== undefined)
    addList(findings, http, 'cron_jobs.list', await readUpTo(listItems(http, OPERATIONS.listCronJobs).pages));
  if (session) await checkHistory(findings, http, session);
  const unseen = { result: 'unobservable', detail: 'nothing that was read shows it' } as const;
  return http.contract.leaves().map((leaf) => ({ ...leaf, ...(findings.get(leaf.name) ?? unseen) }));
}
