import { UnknownShape } from './assumptions.ts';
import type { Contract, Leaf } from './contract.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { describeFields, type JsonObject } from './json.ts';
import { type FieldLeaf, LEAVES, type LeafName } from './leaves.ts';

/** What reads of the service say of a leaf. */
export interface LeafCheck extends Pick<Leaf, 'name' | 'value' | 'source'> {
  /** `unobservable` if no read can tell: only writes use it, or there was nothing to read. */
  readonly result: 'confirmed' | 'contradicted' | 'unobservable';
  /** What was seen: counts, keys, and types, never values of fields. */
  readonly detail: string;
}

export type Finding = Pick<LeafCheck, 'result' | 'detail'>;

/** Fields that every resource has. Others may be absent. */
const ESSENTIAL: ReadonlySet<LeafName> = new Set<LeafName>([
  'space.id',
  'space.external_space_id',
  'space.name',
  'agent.id',
  'agent.name',
  'message.id',
  'message.text',
  'message.author',
  'cron_job.id',
  'cron_job.agent_id',
  'cron_job.name',
]);

type ListedResource = 'space' | 'agent' | 'message' | 'cron_job';

function isPresent(fields: Fields, leaf: FieldLeaf): boolean {
  const value = leaf.endsWith('.id') ? fields.id(leaf) : fields.value(leaf);
  return value !== undefined && value !== null;
}

/** Checks one field against the items of a list. */
function checkField(
  items: readonly JsonObject[],
  resource: ListedResource,
  leaf: FieldLeaf,
  contract: Contract,
): Finding {
  let present = 0;
  for (const item of items) {
    try {
      if (isPresent(fieldsOf(item, resource, contract), leaf)) present += 1;
    } catch (error) {
      if (!(error instanceof UnknownShape)) throw error;
      return { result: 'contradicted', detail: `${error.message} It is ${error.seen}.` };
    }
  }
  const [first] = items;
  if (first === undefined) return { result: 'unobservable', detail: 'there was nothing to read' };
  if (present > 0) return { result: 'confirmed', detail: `in ${present} of ${items.length}` };
  const { source } = contract.leaf(leaf);
  const isExpected = ESSENTIAL.has(leaf) || source === 'imported' || source === 'override';
  const detail = `in none of ${items.length}; the first is ${describeFields(first)}`;
  return { result: isExpected ? 'contradicted' : 'unobservable', detail };
}

function isFieldOf(name: LeafName, resource: ListedResource): name is FieldLeaf {
  return name.startsWith(`${resource}.`) && LEAVES[name].kind === 'field';
}

/** Checks the fields of a resource against the items of its list. Pure. */
export function checkFields(
  items: readonly JsonObject[],
  resource: ListedResource,
  contract: Contract,
): ReadonlyMap<LeafName, Finding> {
  const findings = new Map<LeafName, Finding>();
  for (const { name } of contract.leaves()) {
    if (!isFieldOf(name, resource)) continue;
    findings.set(name, checkField(items, resource, name, contract));
  }
  return findings;
}
