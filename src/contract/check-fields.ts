import { readAgent } from './agents.ts';
import type { Contract, Leaf } from './contract.ts';
import { readCronJob } from './cron.ts';
import { ESSENTIAL, type ListedResource } from './field-names.ts';
import { fieldsOf } from './fields.ts';
import { describeFields, type JsonObject } from './json.ts';
import { type FieldLeaf, fieldsOfResource, type LeafName, type ValuesLeaf } from './leaves.ts';
import { readMessage } from './messages.ts';
import { readSpace } from './spaces.ts';
import { UnknownShape } from './unknown-shape.ts';

/** Whether responses of the service confirm a leaf. */
export interface LeafFinding {
  /** `unobservable` if no read shows it: only writes use it, or there was nothing to read. */
  readonly result: 'confirmed' | 'contradicted' | 'unobservable';
  /** What was seen: counts, keys, and types, never the values of fields. */
  readonly detail: string;
}

export type LeafCheck = Leaf & LeafFinding;

/** What decoding an item shows beyond the values under accepted names; undefined where those have no known form. */
type Decoded = Readonly<Partial<Record<LeafName, unknown>>>;

const READERS: Readonly<Record<ListedResource, (item: JsonObject, contract: Contract) => Decoded>> = {
  space(item, contract) {
    readSpace(item, contract);
    return {};
  },
  agent: (item, contract) => ({ 'agent.source_id': readAgent(item, contract).source_id }),
  message(item, contract) {
    const { role } = readMessage(item, contract);
    const [agent, user] = [role === 'assistant' || undefined, role === 'user' || undefined];
    return { 'message.author': agent ?? user, 'message.author.agent': agent, 'message.author.user': user };
  },
  cron_job(item, contract) {
    const { agent_id, agent_text, schedule } = readCronJob(item, contract);
    const sent = fieldsOf(item, 'cron_job', contract).all('cron_job.timezone')[0]?.value;
    return {
      'cron_job.agent_id': agent_id ?? agent_text,
      'cron_job.schedule': schedule,
      'cron_job.timezone': schedule?.timezone ?? sent,
    };
  },
};

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Checks the fields of a resource against the items of its list. */
export function checkFields(
  items: readonly JsonObject[],
  resource: ListedResource,
  contract: Contract,
): ReadonlyMap<LeafName, LeafFinding> {
  const findings = new Map<LeafName, LeafFinding>();
  const [first] = items;
  if (first === undefined) return findings;
  const decoded: Decoded[] = [];
  for (const item of items) {
    try {
      decoded.push(READERS[resource](item, contract));
    } catch (error) {
      if (!(error instanceof UnknownShape)) throw error;
      const detail = `${error.message} It is ${error.seen}.`;
      findings.set(error.fix?.leaf ?? `${resource}.id`, { result: 'contradicted', detail });
    }
  }
  const sides = resource === 'message' ? (['message.author.agent', 'message.author.user'] as const) : [];
  const read = items.map((item) => fieldsOf(item, resource, contract));
  for (const leaf of [...fieldsOfResource(resource), ...sides].filter((each) => !findings.has(each))) {
    const isDecoded = decoded.some((each) => leaf in each);
    const values = isField(leaf) ? read.map((fields) => fields.all(leaf).map(({ value }) => value)) : [];
    const sent = values.filter((each) => each.some(isPresent)).length;
    const known = isDecoded ? decoded.filter((each) => isPresent(each[leaf])).length : sent;
    findings.set(leaf, toFinding(leaf, { sent, known, of: items.length, first }, contract));
  }
  return findings;
}

function isField(leaf: FieldLeaf | ValuesLeaf): leaf is FieldLeaf {
  return leaf !== 'message.author.agent' && leaf !== 'message.author.user';
}

function toFinding(
  leaf: LeafName,
  { sent, known, of, first }: { readonly sent: number; readonly known: number; of: number; first: JsonObject },
  contract: Contract,
): LeafFinding {
  if (known > 0) return { result: 'confirmed', detail: `in ${known} of ${of}` };
  const seen = `the first is ${describeFields(first)}`;
  if (sent > 0) return { result: 'contradicted', detail: `sent in ${sent} of ${of}, but in no known form; ${seen}` };
  const isExpected = ESSENTIAL.some((each) => each === leaf) || contract.isChosen(leaf);
  return { result: isExpected ? 'contradicted' : 'unobservable', detail: `in none of ${of}; ${seen}` };
}
