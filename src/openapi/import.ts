import { createHash } from 'node:crypto';
import { readContractLayers, updateContract } from '../config/contract-file.ts';
import type { ContractContext } from '../config/contract-settings.ts';
import { Contract, type ContractLayers, type Source } from '../contract/contract.ts';
import { DEFAULTS, isLeafName, isSpecified, type LeafName } from '../contract/leaves.ts';
import { InputError } from '../errors.ts';
import type { DocumentProposals, Proposal } from './propose.ts';
import { type DocumentContext, type DocumentSource, readProposals, readSource } from './source.ts';

/** What a proposed value changes. */
export interface ProposedChange {
  readonly leaf: LeafName;
  readonly old: string;
  readonly new: string;
  readonly old_source: Source;
  /** `conflict` if the new value contradicts the specification, `overridden` if an override hides it, else `change`. */
  readonly status: 'change' | 'conflict' | 'overridden';
  readonly evidence: string;
}

/** What importing a document needs of a command. */
interface ImportContext extends DocumentContext, ContractContext {
  readonly clock: { now(): number };
}

/** What a document says, and what importing it changes. */
export interface ContractImport extends Pick<DocumentProposals, 'missing' | 'questions'> {
  readonly document: {
    readonly from: string;
    readonly title: string | null;
    readonly version: string | null;
    readonly sha256: string;
  };
  readonly changes: readonly ProposedChange[];
  /** The leaves whose values stay the same. */
  readonly confirmed: readonly LeafName[];
  /** Writes the values. @throws as `updateContract` */
  write(): Promise<void>;
}

/** Many frameworks document paths without the trailing slash, which is no other path. */
function isConflict(leaf: LeafName, value: string): boolean {
  return isSpecified(leaf) && value.replace(/\/$/, '') !== DEFAULTS[leaf].replace(/\/$/, '');
}

/**
 * Compares proposed values with the effective ones.
 * @param isWhole whether they replace all that was imported before: what the document does not say has its default again
 * @returns the changes, in the order of the proposals, and the leaves whose values stay the same
 */
export function compareProposals(
  proposals: readonly Proposal[],
  layers: ContractLayers,
  isWhole: boolean,
): { readonly changes: readonly ProposedChange[]; readonly confirmed: readonly LeafName[] } {
  const [current, withoutOverrides] = [new Contract(layers), new Contract({ ...layers, override: {} })];
  const earlier = isWhole ? Object.keys(layers.imported ?? {}).filter(isLeafName) : [];
  const dropped = earlier
    .filter((name) => !proposals.some(({ leaf }) => leaf === name))
    .map((leaf) => ({ leaf, value: DEFAULTS[leaf], evidence: 'no longer in the document' }));
  const changes: ProposedChange[] = [];
  const confirmed: LeafName[] = [];
  for (const { leaf, value, evidence } of [...proposals, ...dropped]) {
    const { value: old, source } = current.leaf(leaf);
    if (withoutOverrides.leaf(leaf).value === value && (source !== 'override' || old === value)) {
      confirmed.push(leaf);
      continue;
    }
    const status = isConflict(leaf, value) ? 'conflict' : source === 'override' ? 'overridden' : 'change';
    changes.push({ leaf, old, new: value, old_source: source, status, evidence });
  }
  return { changes, confirmed };
}

/**
 * Reads a document and compares it with the contract.
 * @param only the leaves to import; if empty, all of them, in place of all that was imported before
 * @throws UsageError if no service is configured, InputError if the document is another service's; as `readSource`,
 * `readProposals`, and `readContractLayers`
 */
export async function readImport(
  context: ImportContext,
  source: DocumentSource,
  only: readonly LeafName[],
): Promise<ContractImport> {
  const { directory } = context.config;
  const key = await context.contractKey();
  const { name: from, text } = await readSource(source, context);
  const read = await readProposals({ name: from, text }, new URL(key.baseUrl).pathname);
  const { proposals, title = null, version = null, missing, questions } = read;
  if (proposals.length === 0) {
    throw new InputError(`The document has no operation of the API: ${from}`, {
      hint: `Nothing was changed. Give the OpenAPI document of ${key.baseUrl}.`,
    });
  }
  const isWhole = only.length === 0;
  const chosen = proposals.filter(({ leaf }) => isWhole || only.includes(leaf));
  const sha256 = createHash('sha256').update(text).digest('hex');
  return {
    document: { from, title, version, sha256 },
    ...compareProposals(chosen, await readContractLayers(directory, key, context.warn), isWhole),
    missing,
    questions,
    async write() {
      const values = Object.fromEntries(chosen.map(({ leaf, value }) => [leaf, value]));
      const document = { from, sha256, imported_at: new Date(context.clock.now()).toISOString() };
      await updateContract(directory, key, (stored) => {
        return { ...stored, imported: isWhole ? values : { ...stored.imported, ...values }, document };
      });
    },
  };
}
