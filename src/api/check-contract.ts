import type { Leaf } from '../contract/contract.ts';
import { Fields } from '../contract/fields.ts';
import { describeFields, isJsonObject, type JsonObject } from '../contract/json.ts';
import { fieldsOfResource, isLeafName, type LeafName, type ListLeaf } from '../contract/leaves.ts';
import type { SessionRef } from '../contract/messages.ts';
import { OPERATIONS, operationOf } from '../contract/operations.ts';
import { UnknownShape } from '../contract/unknown-shape.ts';
import { InterruptedError, NotFoundError, PartnerctlError, ServiceError } from '../errors.ts';
import { missingIn404, probeSession, readHistory } from './history.ts';
import type { Http } from './http.ts';
import { listItems } from './list.ts';

interface LeafFinding {
  /** `unobservable` if no read shows it: only writes use it, or there was nothing to read. */
  readonly result: 'confirmed' | 'contradicted' | 'unobservable';
  /** What was seen: counts, keys, and types, never the values of fields. */
  readonly detail: string;
}

export type LeafCheck = Leaf & LeafFinding;

/** Enough to see every field and to follow pages, without reading a whole service. */
const MAX_ITEMS = 500;

/** Fields that every resource has. Others may be absent. */
const ESSENTIAL: ReadonlySet<string> = new Set([
  ...['space.id', 'space.external_space_id', 'space.name', 'agent.id', 'agent.name'],
  ...['message.id', 'message.text', 'message.author', 'cron_job.id', 'cron_job.agent_id', 'cron_job.name'],
]);

/**
 * Compares the contract with the service, by reads only: the spaces, the agents of one space, the scheduled jobs, and the
 * history of a session if one is given.
 * @throws PartnerctlError for a failure that says nothing of the contract
 */
export async function checkContract(http: Http, session: SessionRef | undefined): Promise<readonly LeafCheck[]> {
  const { contract } = http;
  const check = new ContractCheck(http);
  const [space] = await check.readList('spaces.list', listItems(http, OPERATIONS.listSpaces).pages);
  const isReadable = space && check.findings.get('space.id')?.result !== 'contradicted';
  const space_id = isReadable ? new Fields(space, 'space', contract).id('space.id') : undefined;
  if (space_id !== undefined)
    await check.readList('agents.list', listItems(http, OPERATIONS.listAgents, { values: { space_id } }).pages);
  if (contract.operation('cron_jobs.list') !== undefined)
    await check.readList('cron_jobs.list', listItems(http, OPERATIONS.listCronJobs).pages);
  if (session) await check.readHistory(session);
  const unseen = { result: 'unobservable', detail: 'nothing that was read shows it' } as const;
  return contract.leaves().map((leaf) => ({ ...leaf, ...(check.findings.get(leaf.name) ?? unseen) }));
}

class ContractCheck {
  readonly findings = new Map<LeafName, LeafFinding>();
  private readonly http: Http;

  constructor(http: Http) {
    this.http = http;
  }

  /** Reads a list, and adds what it says. @returns its items; none if unreadable @throws what says nothing about it */
  async readList(list: ListLeaf, read: AsyncIterable<readonly JsonObject[]>): Promise<readonly JsonObject[]> {
    const items: JsonObject[] = [];
    let pages = 0;
    try {
      for await (const page of read) {
        pages += 1;
        items.push(...page.slice(0, MAX_ITEMS - items.length));
        if (items.length >= MAX_ITEMS) break;
      }
    } catch (error) {
      if (!(error instanceof PartnerctlError) || saysNothing(error)) throw error;
      this.addFailure(list, error);
      return [];
    }
    this.addFields(list, items);
    const isPaged = pages > 1 && this.http.contract.next(list).kind !== 'none';
    const detail = `read ${items.length} items in ${pages} pages`;
    this.add(list, 'confirmed', detail);
    this.add('paths.trailing_slash', 'confirmed', detail);
    this.add(`${list}.items`, items.length > 0 ? 'confirmed' : 'unobservable', detail);
    this.add(`${list}.next`, isPaged ? 'confirmed' : 'unobservable', detail);
    return items;
  }

  /** Reads the history of a session, and that of one that does not exist, which must not have the same messages. */
  async readHistory(session: SessionRef): Promise<void> {
    const { http } = this;
    async function* pages() {
      for await (const { messages } of readHistory(http, { ...session, after_message_id: undefined }))
        yield messages.map(({ raw }) => raw);
    }
    const entries = await this.readList('messages.history', pages());
    const leaf = 'messages.history.session_id';
    if (entries.length === 0 || http.contract.parameter(leaf) === undefined) return;
    const probed = await probeSession(http, session.source_id);
    const result = { heeded: 'confirmed', ignored: 'contradicted', unknown: 'unobservable' } as const;
    this.add(leaf, result[probed], `with a session that does not exist, it is ${probed}`);
  }

  private add(leaf: LeafName, result: LeafFinding['result'], detail: string): void {
    this.findings.set(leaf, { result, detail });
  }

  private addFields(list: ListLeaf, items: readonly JsonObject[]): void {
    const [first] = items;
    if (first === undefined) return;
    const { contract } = this.http;
    const { resource, read } = operationOf(list);
    for (const leaf of fieldsOfResource(resource)) {
      const valuesOf = (item: JsonObject) => new Fields(item, resource, contract).all(leaf);
      const count = items.filter((item) => valuesOf(item).some(({ value }) => value !== null)).length;
      const isExpected = ESSENTIAL.has(leaf) || contract.isChosen(leaf);
      const none = `in none of ${items.length}; the first is ${describeFields(first)}`;
      if (count > 0) this.add(leaf, 'confirmed', `in ${count} of ${items.length}`);
      else this.add(leaf, isExpected ? 'contradicted' : 'unobservable', none);
    }
    for (const item of items) {
      try {
        read(item, contract);
      } catch (error) {
        if (!(error instanceof UnknownShape)) throw error;
        this.add(error.fix?.leaf ?? `${resource}.id`, 'contradicted', `${error.message} It is ${error.seen}.`);
      }
    }
  }

  private addFailure(list: ListLeaf, error: PartnerctlError): void {
    const { message, info } = error;
    const { status = 200, why = '', details } = info;
    const detail = `${message} ${why.replaceAll('\n', ' ')}`.trim();
    const leaf = isJsonObject(details) ? details.leaf : undefined;
    if (status < 300 && typeof leaf === 'string' && isLeafName(leaf)) {
      this.add(list, 'confirmed', `it answered with ${status}`);
      this.add(leaf, 'contradicted', detail);
      return;
    }
    // The history of an unknown source or session is not found, either.
    const isOfSession = list === 'messages.history' && error instanceof NotFoundError && missingIn404(error);
    this.add(list, status === 403 || isOfSession ? 'unobservable' : 'contradicted', detail);
  }
}

/** Whether an error says nothing of the contract: every call would get it, or it is an interruption. */
function saysNothing(error: PartnerctlError): boolean {
  const isOfEveryCall = [401, 402, 429].includes(error.info.status ?? 0);
  return isOfEveryCall || error instanceof InterruptedError || error instanceof ServiceError;
}
