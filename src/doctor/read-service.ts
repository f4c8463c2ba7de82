import type { CallOptions } from '../api/call.ts';
import type { Http } from '../api/http.ts';
import { listOf, readItem } from '../api/list.ts';
import { readPages } from '../api/pages.ts';
import type { JsonObject } from '../contract/json.ts';
import { type ListOperation, OPERATIONS } from '../contract/operations.ts';
import type { RequestValues } from '../contract/request.ts';
import { readSpace } from '../contract/resources.ts';
import { InterruptedError, NoOperationError, PartnerctlError, ServiceError } from '../errors.ts';

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

/** Of each call, and of each list. */
export type ReadLimits = Pick<CallOptions, 'retries' | 'timeoutMs'> & { readonly maxItems: number };

/** A new space has no agents: of these, the first that has some is read. */
const MAX_SPACES = 10;

/** Whether an error says nothing of one list: every call would get it. */
export function isOfAllCalls({ error }: ListRead): boolean {
  return error !== undefined && ([401, 402, 429].includes(error.info.status ?? 0) || error instanceof ServiceError);
}

/**
 * Reads the lists that a service has, to check the token's scopes and the contract: the spaces, the agents of one space, and
 * the scheduled jobs. Ends at a failure that every call would get. Sends only reads.
 * @throws InterruptedError
 */
export async function readService(http: Http, limits: ReadLimits): Promise<readonly ListRead[]> {
  const spaces = await readList(http, OPERATIONS.listSpaces, {}, limits);
  if (isOfAllCalls(spaces)) return [spaces];
  let agents: ListRead | undefined;
  for (const item of spaces.error ? [] : spaces.items.slice(0, MAX_SPACES)) {
    const { space_id } = readSpace(item, http.contract);
    agents = await readList(http, OPERATIONS.listAgents, { space_id }, limits);
    if (agents.error || agents.items.length > 0) break;
  }
  const jobs = await readList(http, OPERATIONS.listCronJobs, {}, limits);
  const lists = agents ? [spaces, agents, jobs] : [spaces, jobs];
  return lists.filter(({ error }) => !(error instanceof NoOperationError));
}

async function readList(
  http: Http,
  operation: ListOperation,
  values: RequestValues,
  { maxItems, ...limits }: ReadLimits,
): Promise<ListRead> {
  const items: JsonObject[] = [];
  let pages = 0;
  let isWhole: boolean | undefined;
  let error: PartnerctlError | undefined;
  try {
    const list = { ...listOf(http, operation, { ...limits, values }), asksShort: true };
    for await (const { items: sent, end } of readPages(http, list)) {
      pages += sent.length > 0 ? 1 : 0;
      items.push(...sent.slice(0, maxItems - items.length));
      if (end !== undefined) isWhole = end !== 'not proved';
      else if (items.length >= maxItems) break;
    }
    for (const item of items) readItem(operation, () => operation.read(item, http.contract));
  } catch (thrown) {
    if (!(thrown instanceof PartnerctlError) || thrown instanceof InterruptedError) throw thrown;
    error = thrown;
  }
  return { operation, items, pages, isWhole, error };
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
