import { readAgent } from './agents.ts';
import type { Contract, Leaf } from './contract.ts';
import { readCronJob } from './cron.ts';
import { ESSENTIAL, type ListedResource } from './field-names.ts';
import { fieldsOf } from './fields.ts';
import { describeFields, type JsonObject } from './json.ts';
import { type FieldLeaf, LEAVES, type LeafName } from './leaves.ts';
import { type Message, readMessages } from './messages.ts';
import { UnknownShape } from './unknown-shape.ts';

/** Whether responses of the service confirm a leaf. */
export interface LeafCheck extends Pick<Leaf, 'name' | 'value' | 'source'> {
  /** `unobservable` if no read shows it: only writes use it, or there was nothing to read. */
  readonly result: 'confirmed' | 'contradicted' | 'unobservable';
  /** What was seen: counts, keys, and types, never the values of fields. */
  readonly detail: string;
}

export type LeafFinding = Pick<LeafCheck, 'result' | 'detail'>;

const NOTHING_READ: LeafFinding = { result: 'unobservable', detail: 'there was nothing to read' };

/** Readers of fields that are not only looked up by name: they are also searched for, or must have a known form. */
const READERS: Readonly<Partial<Record<FieldLeaf, (item: JsonObject, contract: Contract) => unknown>>> = {
  'agent.source_id': (item, contract) => readAgent(item, contract).source_id,
  'cron_job.agent_id': (item, contract) => {
    const { agent_id, agent_text } = readCronJob(item, contract);
    return agent_id ?? agent_text;
  },
  'cron_job.instructions': (item, contract) => readCronJob(item, contract).instructions,
  'cron_job.schedule': (item, contract) => readCronJob(item, contract).schedule,
  'cron_job.timezone': (item, contract) =>
    readCronJob(item, contract).schedule?.timezone ?? sentValue(item, 'cron_job', 'cron_job.timezone', contract),
};

function sentValue(item: JsonObject, resource: ListedResource, leaf: FieldLeaf, contract: Contract): unknown {
  const fields = fieldsOf(item, resource, contract);
  return leaf.endsWith('.id') ? fields.id(leaf) : fields.value(leaf);
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Checks one field against the items of a list. */
function checkField(
  items: readonly JsonObject[],
  resource: ListedResource,
  leaf: FieldLeaf,
  contract: Contract,
): LeafFinding {
  const read = READERS[leaf];
  let sent = 0;
  let present = 0;
  for (const item of items) {
    try {
      const isSent = isPresent(sentValue(item, resource, leaf, contract));
      if (isSent) sent += 1;
      if (read ? isPresent(read(item, contract)) : isSent) present += 1;
    } catch (error) {
      if (!(error instanceof UnknownShape)) throw error;
      // Other fields have their own findings.
      if (read && error.fix?.leaf !== leaf) continue;
      return { result: 'contradicted', detail: `${error.message} It is ${error.seen}.` };
    }
  }
  const [first] = items;
  if (first === undefined) return NOTHING_READ;
  if (present > 0) return { result: 'confirmed', detail: `in ${present} of ${items.length}` };
  const seen = describeFields(first);
  if (sent === 0) return missingFinding(contract.leaf(leaf), `in none of ${items.length}; the first is ${seen}`);
  const detail = `sent in ${sent} of ${items.length}, but in no known form; the first is ${seen}`;
  return { result: 'contradicted', detail };
}

/** Returns the finding for a field that no item has. */
function missingFinding({ name, source }: Leaf, detail: string): LeafFinding {
  const isExpected = ESSENTIAL.some((leaf) => leaf === name) || source === 'imported' || source === 'override';
  return { result: isExpected ? 'contradicted' : 'unobservable', detail };
}

/** Checks whether the authors of the messages are recognized. */
function checkAuthors(items: readonly JsonObject[], contract: Contract): readonly (readonly [LeafName, LeafFinding])[] {
  const [first] = items;
  const messages = readMessages(items, contract);
  if (first === undefined) return [];
  const count = (role: Message['role']) => messages.filter((message) => message.role === role).length;
  const toFinding = (written: number, side: string): LeafFinding => {
    if (written > 0) return { result: 'confirmed', detail: `in ${written} of ${items.length}` };
    return { result: 'unobservable', detail: `no message of ${items.length} is known to be by ${side}` };
  };
  const [agents, users] = [count('assistant'), count('user')];
  const unknown = `no author of ${items.length} is known; the first is ${describeFields(first)}`;
  const author: LeafFinding =
    agents + users > 0
      ? { result: 'confirmed', detail: `known in ${agents + users} of ${items.length}` }
      : { result: 'contradicted', detail: unknown };
  return [
    ['message.author', author],
    ['message.author.agent', toFinding(agents, 'an agent')],
    ['message.author.user', toFinding(users, 'a user')],
  ];
}

function isFieldOf(name: LeafName, resource: ListedResource): name is FieldLeaf {
  return name.startsWith(`${resource}.`) && LEAVES[name].kind === 'field';
}

/** Checks the fields of a resource against the items of its list. */
export function checkFields(
  items: readonly JsonObject[],
  resource: ListedResource,
  contract: Contract,
): ReadonlyMap<LeafName, LeafFinding> {
  const findings = new Map<LeafName, LeafFinding>();
  for (const { name } of contract.leaves()) {
    if (!isFieldOf(name, resource)) continue;
    findings.set(name, checkField(items, resource, name, contract));
  }
  if (resource === 'message') for (const [leaf, finding] of checkAuthors(items, contract)) findings.set(leaf, finding);
  return findings;
}
