import { createHash } from 'node:crypto';
import { type ContractKey, readContractLayers, updateContract } from '../config/contract-file.ts';
import type { LeafName } from '../contract/leaves.ts';
import { InputError } from '../errors.ts';
import { compareProposals, type ProposedChange } from './changes.ts';
import type { DocumentProposals } from './propose.ts';
import { type DocumentContext, readProposals, readSource, type Source } from './source.ts';

/** What importing a document needs of a command. */
interface ImportContext extends DocumentContext {
  readonly config: { readonly directory: string };
  readonly clock: { now(): number };
  contractKey(): Promise<ContractKey>;
  warn(text: string): Promise<void>;
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

/**
 * Reads a document and compares it with the contract.
 * @param only the leaves to import; if empty, all of them, in place of all that was imported before
 * @throws UsageError if no service is configured, InputError if the document is another service's; as `readSource`,
 * `readProposals`, and `readContractLayers`
 */
export async function readImport(
  context: ImportContext,
  source: Source,
  only: readonly LeafName[],
): Promise<ContractImport> {
  const { directory } = context.config;
  const key = await context.contractKey();
  const text = await readSource(source, context);
  const { proposals, title, version, missing, questions } = await readProposals(text, new URL(key.baseUrl).pathname);
  if (proposals.length === 0) {
    throw new InputError(`The document has no operation of the API: ${text.name}`, {
      hint: `Nothing was changed. Give the OpenAPI document of ${key.baseUrl}.`,
    });
  }
  const isWhole = only.length === 0;
  const chosen = proposals.filter(({ leaf }) => isWhole || only.includes(leaf));
  const compared = compareProposals(chosen, await readContractLayers(directory, key, context.warn), isWhole);
  const from = text.name;
  const sha256 = createHash('sha256').update(text.text).digest('hex');
  return {
    document: { from, title: title ?? null, version: version ?? null, sha256 },
    ...compared,
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
