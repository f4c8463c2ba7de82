import { checkFields, type Finding, type LeafCheck } from '../contract/check-fields.ts';
import { findId } from '../contract/fields.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import type { LeafName, ListLeaf } from '../contract/leaves.ts';
import { InterruptedError, isTokenRejected, PartnerctlError, ServiceError } from '../errors.ts';
import { listCronJobs } from './cron-jobs.ts';
import { HistoryReader } from './history.ts';
import type { Http } from './http.ts';
import { listAgents, listSpaces } from './spaces.ts';

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
  /** Why the list could not be read to its end. */
  readonly error: PartnerctlError | undefined;
}

/** @throws errors that say nothing of the contract: a rejected token, a service that fails, an interruption */
async function readUpTo(items: AsyncIterable<JsonObject>): Promise<ReadList> {
  const read: JsonObject[] = [];
  try {
    for await (const item of items) {
      read.push(item);
      if (read.length >= MAX_ITEMS) break;
    }
    return { items: read, error: undefined };
  } catch (error) {
    const saysNothing = error instanceof InterruptedError || error instanceof ServiceError || isTokenRejected(error);
    if (!(error instanceof PartnerctlError) || saysNothing) throw error;
    return { items: read, error };
  }
}

async function* historyOf(http: Http, session: CheckedSession, now: () => number): AsyncGenerator<JsonObject> {
  const position = { ...session, after_message_id: undefined };
  for await (const page of new HistoryReader(http).readAfter(position, { now, limits: () => ({}) })) {
    yield* page.messages.map(({ raw }) => raw);
  }
}

function describe({ message, info }: PartnerctlError): string {
  return info.why === undefined ? message : `${message} ${info.why.replaceAll('\n', ' ')}`;
}

/** Returns what reading a list says of its operation, its items, and its pages. */
function listFindings(list: ListLeaf, { items, error }: ReadList): (readonly [LeafName, Finding])[] {
  if (error === undefined) {
    const detail = `read ${items.length}${items.length >= MAX_ITEMS ? ' and stopped' : ' to the end'}`;
    const found: Finding = { result: 'confirmed', detail };
    return [
      [list, found],
      [`${list}.items`, found],
      [`${list}.next`, found],
    ];
  }
  const { status, details } = error.info;
  const detail = describe(error);
  if (status !== undefined && status >= 300) {
    const isForbidden = status === 401 || status === 403;
    return [[list, { result: isForbidden ? 'unobservable' : 'contradicted', detail }]];
  }
  const { leaf, assumption } = isJsonObject(details) ? details : {};
  const failed =
    leaf === `${list}.items` || assumption === 'list.envelope' ? (`${list}.items` as const) : (`${list}.next` as const);
  const isOfList = failed === `${list}.items` || leaf === failed || assumption === 'list.next';
  return [
    [list, { result: 'confirmed', detail: `it answered with ${status ?? 200}` }],
    ...(isOfList ? [[failed, { result: 'contradicted', detail }] as const] : []),
  ];
}

async function readAgents(http: Http, spaces: readonly JsonObject[]): Promise<ReadList | undefined> {
  let last: ReadList | undefined;
  for (const space of spaces.slice(0, MAX_SPACES)) {
    const id = findId(space, http.contract, 'space.id');
    if (id === undefined) continue;
    last = await readUpTo(listAgents(http, id));
    if (last.items.length > 0 || last.error) break;
  }
  return last;
}

const NOTHING: Finding = { result: 'unobservable', detail: 'no read shows it' };
const NO_SESSION: Finding = { result: 'unobservable', detail: 'give --source and --session to read a history' };

/** Returns a finding for every leaf, from those of the reads. */
function toChecks(http: Http, findings: ReadonlyMap<LeafName, Finding>, hasSession: boolean): readonly LeafCheck[] {
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
  const findings = new Map<LeafName, Finding>();
  const add = (list: ListLeaf, resource: 'space' | 'agent' | 'cron_job' | 'message', read: ReadList): void => {
    for (const [leaf, finding] of checkFields(read.items, resource, http.contract)) findings.set(leaf, finding);
    for (const [leaf, finding] of listFindings(list, read)) findings.set(leaf, finding);
  };
  const spaces = await readUpTo(listSpaces(http));
  add('spaces.list', 'space', spaces);
  const agents = await readAgents(http, spaces.items);
  if (agents) add('agents.list', 'agent', agents);
  if (http.contract.operation('cron_jobs.list') !== undefined) {
    add('cron_jobs.list', 'cron_job', await readUpTo(listCronJobs(http)));
  }
  if (session) add('messages.history', 'message', await readUpTo(historyOf(http, session, now)));
  return toChecks(http, findings, session !== undefined);
}
