import { checkFields, type LeafCheck, type LeafFinding } from '../contract/check-fields.ts';
import { RESOURCE_OF } from '../contract/field-names.ts';
import { fieldsOf } from '../contract/fields.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { isLeafName, type LeafName, type ListLeaf } from '../contract/leaves.ts';
import type { Message } from '../contract/messages.ts';
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

/** The findings for every leaf, from those of the reads. */
class ContractCheck {
  private readonly findings = new Map<LeafName, LeafFinding>();
  private readonly http: Http;

  constructor(http: Http) {
    this.http = http;
  }

  private add(leaf: LeafName, result: LeafFinding['result'], detail: string): void {
    this.findings.set(leaf, { result, detail });
  }

  /** Adds what a list says of its operation, its items, and its pages. */
  private addList(list: ListLeaf, { items, pages, error }: ReadList): void {
    const { contract } = this.http;
    for (const [leaf, finding] of checkFields(items, RESOURCE_OF[list], contract)) this.findings.set(leaf, finding);
    if (error) {
      this.addFailure(list, error);
      return;
    }
    const count = items.length;
    const read = `read ${count}${count >= MAX_ITEMS ? ' and stopped' : ' to the end'}`;
    this.add(list, 'confirmed', read);
    this.add('paths.trailing_slash', 'confirmed', 'such an address was answered');
    if (count > 0) this.add(`${list}.items`, 'confirmed', read);
    else this.add(`${list}.items`, 'unobservable', 'the list is empty');
    const isPaged = pages > 1 && contract.next(list).kind !== 'none';
    if (isPaged) this.add(`${list}.next`, 'confirmed', read);
    else this.add(`${list}.next`, 'unobservable', `read ${count}; no next page was seen`);
  }

  /** Adds what a list that could not be read says of the leaf that the failure is about. */
  private addFailure(list: ListLeaf, error: PartnerctlError): void {
    const { message, info } = error;
    const { status = 200, why, details } = info;
    const detail = why === undefined ? message : `${message} ${why.replaceAll('\n', ' ')}`;
    const leaf = isJsonObject(details) ? details.leaf : undefined;
    if (status < 300 && typeof leaf === 'string' && isLeafName(leaf)) {
      this.add(list, 'confirmed', `it answered with ${status}`);
      this.add(leaf, 'contradicted', detail);
      return;
    }
    // The history of an unknown source or session is not found, either.
    const isOfSession =
      list === 'messages.history' && error instanceof NotFoundError && missingIn404(error) !== undefined;
    this.add(list, status === 401 || status === 403 || isOfSession ? 'unobservable' : 'contradicted', detail);
  }

  private async readAgents(spaces: readonly JsonObject[]): Promise<void> {
    let last: ReadList | undefined;
    for (const space of spaces.slice(0, MAX_SPACES)) {
      const id = fieldsOf(space, 'space', this.http.contract).id('space.id');
      if (id === undefined) continue;
      last = await readUpTo(listItems(this.http, OPERATIONS.listAgents, { values: { space_id: id } }).pages);
      if (last.items.length > 0 || last.error) break;
    }
    if (last) this.addList('agents.list', last);
  }

  /** Reads the history of a session, and that of one that does not exist, which must not have the same messages. */
  private async readHistory(session: CheckedSession): Promise<void> {
    const position = { ...session, after_message_id: undefined };
    const messages: Message[] = [];
    const reader = new HistoryReader(this.http).readAfter(position);
    async function* pages() {
      for await (const page of reader) {
        messages.push(...page.messages);
        yield page.messages.map(({ raw }) => raw);
      }
    }
    const read = await readUpTo(pages());
    this.addList('messages.history', read);
    const leaf = 'messages.history.session_id';
    if (read.error || messages.length === 0 || this.http.contract.parameter(leaf) === undefined) return;
    const ids = messages.map(({ message_id }) => message_id);
    const result = await probeSession(this.http, session.source_id, ids);
    if (result === 'heeded') this.add(leaf, 'confirmed', 'a session that does not exist does not have these messages');
    else if (result === 'ignored')
      this.add(leaf, 'contradicted', 'a session that does not exist has the same messages');
    else this.add(leaf, 'unobservable', 'the history of a session that does not exist could not be read');
  }

  async run(session: CheckedSession | undefined): Promise<readonly LeafCheck[]> {
    const { http } = this;
    const spaces = await readUpTo(listItems(http, OPERATIONS.listSpaces).pages);
    this.addList('spaces.list', spaces);
    if (this.findings.get('space.id')?.result !== 'contradicted') await this.readAgents(spaces.items);
    if (http.contract.operation('cron_jobs.list') !== undefined)
      this.addList('cron_jobs.list', await readUpTo(listItems(http, OPERATIONS.listCronJobs).pages));
    if (session) await this.readHistory(session);
    return http.contract.leaves().map((leaf) => {
      const isOfHistory = /^messages\.history|^message\./.test(leaf.name);
      const detail =
        isOfHistory && !session ? 'give --source and --session to read a history' : 'nothing that was read shows it';
      return { ...leaf, ...(this.findings.get(leaf.name) ?? { result: 'unobservable', detail }) };
    });
  }
}

/**
 * Compares the contract with the service, by reads only: the spaces, the agents of one space, the scheduled jobs, and the
 * history of a session if one is given.
 * @throws PartnerctlError for a failure that says nothing of the contract
 */
export async function checkContract(http: Http, session: CheckedSession | undefined): Promise<readonly LeafCheck[]> {
  return await new ContractCheck(http).run(session);
}
