import type { Contract, Leaf } from './contract.ts';
import { readCronJob } from './cron.ts';
import { ESSENTIAL, type ListedResource } from './field-names.ts';
import { fieldsOf } from './fields.ts';
import { describeFields, type JsonObject } from './json.ts';
import { fieldsOfResource, type LeafName } from './leaves.ts';
import { readMessage } from './messages.ts';
import { readAgent, readSpace } from './resources.ts';
import { UnknownShape } from './unknown-shape.ts';

/** Whether responses of the service confirm a leaf. */
export interface LeafFinding {
  /** `unobservable` if no read shows it: only writes use it, or there was nothing to read. */
  readonly result: 'confirmed' | 'contradicted' | 'unobservable';
  /** What was seen: counts, keys, and types, never the values of fields. */
  readonly detail: string;
}

export type LeafCheck = Leaf & LeafFinding;

const READERS: Readonly<Record<ListedResource, (item: JsonObject, contract: Contract) => unknown>> = {
  space: readSpace,
  agent: readAgent,
  message: readMessage,
  cron_job: readCronJob,
};

/** Checks the fields of a resource against the items of its list. */
export function checkFields(
  items: readonly JsonObject[],
  resource: ListedResource,
  contract: Contract,
): ReadonlyMap<LeafName, LeafFinding> {
  const findings = new Map<LeafName, LeafFinding>();
  const [first] = items;
  if (first === undefined) return findings;
  for (const item of items) {
    try {
      READERS[resource](item, contract);
    } catch (error) {
      if (!(error instanceof UnknownShape)) throw error;
      const detail = `${error.message} It is ${error.seen}.`;
      findings.set(error.fix?.leaf ?? `${resource}.id`, { result: 'contradicted', detail });
    }
  }
  const read = items.map((item) => fieldsOf(item, resource, contract));
  for (const leaf of fieldsOfResource(resource).filter((each) => !findings.has(each))) {
    const { length } = read.filter((fields) => fields.all(leaf).some(({ value }) => value !== null));
    const isExpected = ESSENTIAL.has(leaf) || contract.isChosen(leaf);
    const none = `in none of ${items.length}; the first is ${describeFields(first)}`;
    findings.set(
      leaf,
      length > 0
        ? { result: 'confirmed', detail: `in ${length} of ${items.length}` }
        : { result: isExpected ? 'contradicted' : 'unobservable', detail: none },
    );
  }
  return findings;
}
