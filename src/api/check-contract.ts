import { checkFields, type LeafCheck, type LeafFinding } from '../contract/check-fields.ts';
import type { Contract } from '../contract/contract.ts';
import { findId } from '../contract/fields.ts';
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
/** Spaces whose agents are read, until one has agents. */
const MAX_SPACES = 5;

interface ReadList {
  readonly items: readonly JsonObject[];
  /** How many pages it took. */
  readonly pages: number;
  /** Why the list could not be read to its end. */
  readonly error: PartnerctlError | undefined;
}

/** Whether an error says nothing of the contract: every call would get it, or it is an interruption. */
function saysNothing(error: unknown): boolean {
  if (error instanceof InterruptedError || error instanceof ServiceError) return true;
  return isTokenRejected(error) || isBalanceTooLow(error) || isRateLimited(error);
}

/** @throws errors that say nothing of the contract */
async function readUpTo(list: AsyncIterable<readonly JsonObject[]>): Promise<ReadList> {
  const items: JsonObject[] = [];
  let pages = 0;
  const result = (error?: PartnerctlError) => ({ items, pages, error });
  try {
    for await (const page of list) {
      pages += 1;
      items.push(...page.slice(0, MAX_ITEMS - items.length));
      if (items.length >= MAX_ITEMS) break;
    }
    return result();
  } catch (error) {
    if (!(error instanceof PartnerctlError) || saysNothing(error)) throw error;
    return result(error);
  }
}

async function* historyOf(
  http: Http,
  session: CheckedSession,
  now: () => number,
): AsyncGenerator<readonly JsonObject[]> {
  const position = { ...session, after_message_id: undefined };
  for await (const page of new HistoryReader(http).readAfter(position, { now, limits: () => ({}) })) {
    yield page.messages.map(({ raw }) => raw);
  }
}

function describe({ message, info }: PartnerctlError): string {
  return info.why === undefined ? message : `${message} ${info.why.replaceAll('\n', ' ')}`;
}

/** Returns what a list that could be read says of its operation, its items, and its pages. */
function readFindings(contract: Contract, list: ListLeaf, read: ReadList): (readonly [LeafName, LeafFinding])[] {
  const count = read.items.length;
  const detail = `read ${count}${count >= MAX_ITEMS ? ' and stopped' : ' to the end'}`;
  const found: LeafFinding = { result: 'confirmed', detail };
  const isPaged = read.pages > 1 && contract.next(list).kind !== 'none';
  return [
    [list, found],
    [`${list}.items`, count > 0 ? found : { result: 'unobservable', detail: 'the list is empty' }],
    [`${list}.next`, isPaged ? found : { result: 'unobservable', detail: `read ${count}; no next page was seen` }],
    ['paths.trailing_slash', { result: 'confirmed', detail: 'such an address was answered' }],
  ];
}

/** Returns what a list that could not be read says of the leaf that the failure is about. */
function failedFindings(list: ListLeaf, error: PartnerctlError): (readonly [LeafName, LeafFinding])[] {
  const { status, details } = error.info;
  const detail = describe(error);
  if (status !== undefined && status >= 300) {
    const isForbidden = status === 401 || status === 403;
    // The history of an unknown source or session is not found, either.
    const isOfSession =
      list === 'messages.history' && error instanceof NotFoundError && missingIn404(error) !== undefined;
    return [[list, { result: isForbidden || isOfSession ? 'unobservable' : 'contradicted', detail }]];
  }
  const { leaf } = isJsonObject(details) ? details : {};
  const contradicted: LeafFinding = { result: 'contradicted', detail };
  const answered: readonly [LeafName, LeafFinding] = [
    list,
    { result: 'confirmed', detail: `it answered with ${status ?? 200}` },
  ];
  if (typeof leaf === 'string' && isLeafName(leaf)) return [answered, [leaf, contradicted]];
  return [[list, contradicted]];
}

/** Asks for the history of a session that does not exist, and says whether the service heeds the session. */
async function sessionFinding(
  http: Http,
  session: CheckedSession,
  { items }: ReadList,
): Promise<LeafFinding | undefined> {
  if (items.length === 0 || http.contract.parameter('messages.history.session_id') === undefined) return undefined;
  const result = await probeSession(http, session.source_id, items);
  if (result === 'heeded')
    return { result: 'confirmed', detail: 'a session that does not exist does not have these messages' };
  if (result === 'unknown')
    return { result: 'unobservable', detail: 'the history of a session that does not exist could not be read' };
  return { result: 'contradicted', detail: 'a session that does not exist has the same messages' };
}

async function readAgents(http: Http, spaces: readonly JsonObject[]): Promise<ReadList | undefined> {
  let last: ReadList | undefined;
  for (const space of spaces.slice(0, MAX_SPACES)) {
    const id = findId(space, http.contract, 'space.id');
    if (id === undefined) continue;
    last = await readUpTo(listItems(http, OPERATIONS.listAgents, { values: { space_id: id } }).pages);
    if (last.items.length > 0 || last.error) break;
  }
  return last;
}

const NOTHING: LeafFinding = { result: 'unobservable', detail: 'no read shows it' };
const NO_SESSION: LeafFinding = { result: 'unobservable', detail: 'give --source and --session to read a history' };

/** Returns a finding for every leaf, from those of the reads. */
function toChecks(http: Http, findings: ReadonlyMap<LeafName, LeafFinding>, hasSession: boolean): readonly LeafCheck[] {
  return http.contract.leaves().map(({ name, value, source }) => {
    const isOfHistory = name.startsWith('messages.history') || name.startsWith('message.');
    const fallback = isOfHistory && !hasSession ? NO_SESSION : NOTHING;
    return { name, value, source, ...(findings.get(name) ?? fallback) };
  });
}

/**
 * Compares the contract with the service, by reads only: the spaces, the agents of one space, the scheduled jobs, and the
 * history of a session if one is given.
 * @param now the current time in milliseconds
 * @throws PartnerctlError for a failure that says nothing of the contract
 */
export async function checkContract(
  http: Http,
  session: CheckedSession | undefined,
  now: () => number,
): Promise<readonly LeafCheck[]> {
  const findings = new Map<LeafName, LeafFinding>();
  const add = (list: ListLeaf, resource: 'space' | 'agent' | 'cron_job' | 'message', read: ReadList): void => {
    for (const [leaf, finding] of checkFields(read.items, resource, http.contract)) findings.set(leaf, finding);
    const found = read.error ? failedFindings(list, read.error) : readFindings(http.contract, list, read);
    for (const [leaf, finding] of found) findings.set(leaf, finding);
  };
  const spaces = await readUpTo(listItems(http, OPERATIONS.listSpaces).pages);
  add('spaces.list', 'space', spaces);
  const agents = await readAgents(http, spaces.items);
  if (agents) add('agents.list', 'agent', agents);
  if (http.contract.operation('cron_jobs.list') !== undefined) {
    add('cron_jobs.list', 'cron_job', await readUpTo(listItems(http, OPERATIONS.listCronJobs).pages));
  }
  if (session) {
    const read = await readUpTo(historyOf(http, session, now));
    add('messages.history', 'message', read);
    const finding = read.error ? undefined : await sessionFinding(http, session, read);
    if (finding) findings.set('messages.history.session_id', finding);
  }
  return toChecks(http, findings, session !== undefined);
}
