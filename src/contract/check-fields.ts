import { readAgent } from './agents.ts';
import type { Contract, Leaf } from './contract.ts';
import { readCronJob } from './cron.ts';
import { ESSENTIAL, type ListedResource } from './field-names.ts';
import { fieldsOf } from './fields.ts';
import { describeFields, type JsonObject } from './json.ts';
import { type FieldLeaf, fieldsOfResource, type LeafName } from './leaves.ts';
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

/** Whether the fields that have forms of their own are in a known one. */
type Forms = Readonly<Partial<Record<FieldLeaf, boolean>>>;

const READERS: Readonly<Record<ListedResource, (item: JsonObject, contract: Contract) => Forms>> = {
  space(item, contract) {
    readSpace(item, contract);
    return {};
  },
  agent(item, contract) {
    readAgent(item, contract);
    return {};
  },
  message: (item, contract) => ({
    'message.author': ['assistant', 'user'].includes(readMessage(item, contract).role),
  }),
  cron_job(item, contract) {
    const { agent_id, agent_text, schedule } = readCronJob(item, contract);
    const hasAgent = agent_id !== undefined || agent_text !== undefined;
    return { 'cron_job.agent_id': hasAgent, 'cron_job.schedule': schedule !== undefined };
  },
};

/** Checks the fields of a resource against the items of its list. */
export function checkFields(
  items: readonly JsonObject[],
  resource: ListedResource,
  contract: Contract,
): ReadonlyMap<LeafName, LeafFinding> {
  const findings = new Map<LeafName, LeafFinding>();
  if (items.length === 0) return findings;
  const forms: Forms[] = [];
  for (const item of items) {
    try {
      forms.push(READERS[resource](item, contract));
    } catch (error) {
      if (!(error instanceof UnknownShape)) throw error;
      const detail = `${error.message} It is ${error.seen}.`;
      findings.set(error.fix?.leaf ?? `${resource}.id`, { result: 'contradicted', detail });
    }
  }
  const read = items.map((item) => fieldsOf(item, resource, contract));
  for (const leaf of fieldsOfResource(resource).filter((each) => !findings.has(each))) {
    const sent = read.filter((fields) => fields.all(leaf).some(({ value }) => value !== undefined && value !== null));
    const known = forms.some((each) => leaf in each) ? forms.filter((each) => each[leaf]).length : sent.length;
    findings.set(leaf, toFinding(leaf, { sent: sent.length, known, items }, contract));
  }
  return findings;
}

function toFinding(
  leaf: FieldLeaf,
  { sent, known, items }: { readonly sent: number; readonly known: number; readonly items: readonly JsonObject[] },
  contract: Contract,
): LeafFinding {
  if (known > 0) return { result: 'confirmed', detail: `in ${known} of ${items.length}` };
  const form = sent > 0 ? ' in a known form' : '';
  const detail = `in none of ${items.length}${form}; the first is ${describeFields(items[0] ?? {})}`;
  const isExpected = sent > 0 || ESSENTIAL.includes(leaf) || contract.isChosen(leaf);
  return { result: isExpected ? 'contradicted' : 'unobservable', detail };
}
