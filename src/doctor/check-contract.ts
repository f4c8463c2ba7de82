import { missingIn404 } from '../api/history.ts';
import type { Http } from '../api/http.ts';
import type { Contract, Leaf } from '../contract/contract.ts';
import { Fields } from '../contract/fields.ts';
import { describeFields, isJsonObject } from '../contract/json.ts';
import { fieldsOfResource, isLeafName, type LeafName } from '../contract/leaves.ts';
import type { SessionRef } from '../contract/messages.ts';
import { NotFoundError, type PartnerctlError, ServiceError } from '../errors.ts';
import { describeUnproved, type ListRead, readService } from './read-service.ts';

interface LeafFinding {
  /** `unobservable` if no read shows it: only writes use it, or there was nothing to read. */
  readonly result: 'confirmed' | 'contradicted' | 'unobservable';
  /** What was seen: counts, keys, and types, never the values of fields. */
  readonly detail: string;
  /** Whether a read should have shown it. */
  readonly isNotable?: boolean;
}

export type LeafCheck = Leaf & LeafFinding;

/** Enough to see every field and to follow pages, without reading a whole service. */
const MAX_ITEMS = 500;

/** Fields that every resource has. Others may be absent. */
const ESSENTIAL: ReadonlySet<string> = new Set([
  ...['space.id', 'space.external_space_id', 'space.name', 'agent.id', 'agent.name'],
  ...['message.id', 'message.text', 'message.author', 'cron_job.id', 'cron_job.agent_id', 'cron_job.name'],
]);

type Finding = readonly [leaf: LeafName, finding: LeafFinding];

/**
 * Compares the contract with the service, by reads only: the spaces, the agents of one space, the scheduled jobs, and the
 * history of a session if one is given.
 * @throws PartnerctlError for a failure that says nothing of the contract
 */
export async function checkContract(http: Http, session: SessionRef | undefined): Promise<readonly LeafCheck[]> {
  const { contract } = http;
  const { lists, session: probed } = await readService(http, { maxItems: MAX_ITEMS }, session);
  const failure = lists.find(({ error }) => error && saysNothing(error))?.error;
  if (failure) throw failure;
  const found = new Map(lists.flatMap((list) => [...findingsOf(list, contract), ...failureOf(list)]));
  const hasEntries = lists.some(({ operation, items }) => operation.leaf === 'messages.history' && items.length > 0);
  if (probed === 'ignored' || (probed === 'heeded' && hasEntries)) {
    const detail = `with a session that does not exist, it is ${probed}`;
    found.set('messages.history.session_id', { result: probed === 'heeded' ? 'confirmed' : 'contradicted', detail });
  }
  const unseen = { result: 'unobservable', detail: 'nothing that was read shows it' } as const;
  return contract.leaves().map((leaf) => ({ ...leaf, ...(found.get(leaf.name) ?? unseen) }));
}

/** Returns what the items of a list show. */
function findingsOf(list: ListRead, contract: Contract): readonly Finding[] {
  const { operation, items, pages, isWhole } = list;
  const { leaf, resource } = operation;
  const [first] = items;
  if (first === undefined) return [[leaf, { result: 'unobservable', detail: 'it has no items', isNotable: true }]];
  const confirmed = { result: 'confirmed', detail: `read ${items.length} items in ${pages} pages` } as const;
  return [
    [leaf, confirmed],
    ['paths.trailing_slash', confirmed],
    [`${leaf}.items`, confirmed],
    [`${leaf}.next`, pagingFinding(list, confirmed.detail, isWhole)],
    ...fieldsOfResource(resource).map((field): Finding => {
      const valuesOf = (item: typeof first) => new Fields(item, resource, contract).all(field);
      const count = items.filter((item) => valuesOf(item).some(({ value }) => value !== null)).length;
      if (count > 0) return [field, { result: 'confirmed', detail: `in ${count} of ${items.length}` }];
      const isExpected = ESSENTIAL.has(field) || contract.isChosen(field);
      const detail = `in none of ${items.length}; the first is ${describeFields(first)}`;
      return [field, { result: isExpected ? 'contradicted' : 'unobservable', detail }];
    }),
  ];
}

function pagingFinding(list: ListRead, read: string, isWhole: boolean | undefined): LeafFinding {
  if (isWhole === undefined) return { result: 'unobservable', detail: `${read}, and not the last one` };
  if (isWhole) return { result: list.pages > 1 ? 'confirmed' : 'unobservable', detail: read };
  const { message, hint } = describeUnproved([list]);
  return { result: 'unobservable', detail: `${message} ${hint}`, isNotable: true };
}

/** Returns what the failure of a list, or an item that cannot be decoded, says of the contract. */
function failureOf({ operation: { leaf }, error }: ListRead): readonly Finding[] {
  if (error === undefined) return [];
  const { status = 200, why = '', details } = error.info;
  const detail = `${error.message} ${why.replaceAll('\n', ' ')}`.trim();
  const cause = isJsonObject(details) ? details.leaf : undefined;
  if (status < 300 && typeof cause === 'string' && isLeafName(cause)) {
    const answered = { result: 'confirmed', detail: `it answered with ${status}` } as const;
    return [
      [leaf, answered],
      [cause, { result: 'contradicted', detail }],
    ];
  }
  // The history of an unknown source or session is not found, either.
  const isOfSession = leaf === 'messages.history' && error instanceof NotFoundError && missingIn404(error);
  const isAllowed = status !== 403 && !isOfSession;
  return [[leaf, { result: isAllowed ? 'contradicted' : 'unobservable', detail, isNotable: true }]];
}

/** Whether an error says nothing of the contract: every call would get it. */
function saysNothing(error: PartnerctlError): boolean {
  return [401, 402, 429].includes(error.info.status ?? 0) || error instanceof ServiceError;
}
