import type { Http } from '../api/http.ts';
import type { Contract, Leaf } from '../contract/contract.ts';
import { Fields } from '../contract/fields.ts';
import { describeFields, isJsonObject } from '../contract/json.ts';
import { fieldsOfResource, isLeafName, type LeafName } from '../contract/leaves.ts';
import { describeUnproved, isOfAllCalls, type ListRead, readService } from './read-service.ts';

interface LeafFinding {
  /** `unobservable` if the reads do not show it: there was nothing to read, or not all of it was. */
  readonly result: 'confirmed' | 'contradicted' | 'unobservable';
  /** What was seen: counts, keys, and types, never the values of fields. */
  readonly detail: string;
}

export type LeafCheck = Leaf & LeafFinding;

type Finding = readonly [leaf: LeafName, result: LeafFinding['result'], detail: string];

/** Enough to see every field and to follow pages, without reading a whole service. */
const MAX_ITEMS = 500;

/** Fields that every resource has. Others may be absent. */
const ESSENTIAL: ReadonlySet<string> = new Set([
  ...['space.id', 'space.external_space_id', 'space.name', 'agent.id', 'agent.name'],
  ...['cron_job.id', 'cron_job.agent_id', 'cron_job.name'],
]);

/**
 * Compares the contract with the lists of the service, by reads only.
 * @returns what the reads show of it
 * @throws PartnerctlError for a failure that says nothing of the contract
 */
export async function checkContract(http: Http): Promise<readonly LeafCheck[]> {
  const { contract } = http;
  const lists = await readService(http, { maxItems: MAX_ITEMS });
  const failure = lists.find(isOfAllCalls)?.error;
  if (failure) throw failure;
  const findings = lists.flatMap((list) => [...findingsOf(list, contract), ...failureOf(list)]);
  // What fails later says more of a leaf.
  const found = new Map(findings.map(([leaf, result, detail]) => [leaf, { ...contract.leaf(leaf), result, detail }]));
  return [...found.values()];
}

/** Returns what the items of a list show. */
function findingsOf(list: ListRead, contract: Contract): readonly Finding[] {
  const { leaf, resource } = list.operation;
  const { items, pages, error } = list;
  const [first] = items;
  if (first === undefined) return error ? [] : [[leaf, 'unobservable', 'it has no items']];
  const read = `read ${items.length} items in ${pages === 1 ? 'one page' : `${pages} pages`}`;
  return [
    [leaf, 'confirmed', read],
    [`${leaf}.next`, ...endOf(list, read)],
    ...fieldsOfResource(resource)
      .filter((field) => ESSENTIAL.has(field) || contract.isChosen(field))
      .map((field): Finding => {
        const isSent = (item: typeof first) =>
          new Fields(item, resource, contract).all(field).some(({ value }) => value !== null);
        const count = items.filter(isSent).length;
        if (count > 0) return [field, 'confirmed', `in ${count} of ${items.length}`];
        return [field, 'contradicted', `in none of ${items.length}; the first is ${describeFields(first)}`];
      }),
  ];
}

function endOf(list: ListRead, read: string): readonly [LeafFinding['result'], string] {
  const { pages, isWhole } = list;
  if (isWhole === undefined) return ['unobservable', `${read}, and not the last one`];
  // A single page shows no way to the next one.
  if (isWhole) return [pages > 1 ? 'confirmed' : 'unobservable', read];
  const { message, hint } = describeUnproved([list]);
  return ['unobservable', `${message} ${hint}`];
}

/** Returns what the failure of a list, or an item that cannot be decoded, says of the contract. */
function failureOf({ operation: { leaf }, error }: ListRead): readonly Finding[] {
  if (error === undefined) return [];
  const { status = 200, why = '', details } = error.info;
  const detail = `${error.message} ${why.replaceAll('\n', ' ')}`.trim();
  const cause = isJsonObject(details) ? details.leaf : undefined;
  if (status < 300 && typeof cause === 'string' && isLeafName(cause)) return [[cause, 'contradicted', detail]];
  return [[leaf, status === 403 ? 'unobservable' : 'contradicted', detail]];
}
