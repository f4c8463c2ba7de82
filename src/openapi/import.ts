import { type ContractContext, contractKey, readContract, writeImported } from '../config/contract-file.ts';
import { Contract } from '../contract/contract.ts';
import { LEAF_NAMES, type LeafName } from '../contract/leaves.ts';
import { InputError } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';
import { openDocument } from './document.ts';
import { type Proposal, proposeFromOpenApi } from './propose.ts';
import { type DocumentContext, readOpenApi } from './source.ts';

/** What importing a document changes. An override stays in force over the new value. */
export interface ImportedChange {
  readonly leaf: LeafName;
  readonly old: string;
  readonly new: string;
  readonly evidence: string;
}

/** Compares two imports. What the new one does not say has its default again. */
function compare(before: Contract, after: Contract, proposals: readonly Proposal[]): readonly ImportedChange[] {
  return LEAF_NAMES.flatMap((leaf) => {
    const [{ value: old }, { value }] = [before.leaf(leaf), after.leaf(leaf)];
    if (old === value) return [];
    const evidence = proposals.find((each) => each.leaf === leaf)?.evidence ?? 'no longer in the document';
    return [{ leaf, old, new: value, evidence }];
  });
}

/** Compares a document with what was imported before. @throws UsageError, InputError; as `readContract` */
export async function readImport(context: DocumentContext & ContractContext, source: string) {
  const key = contractKey(context);
  const { from, text } = await readOpenApi(source, context);
  const document = await openDocument(text).catch((error: unknown) => {
    const why = errorMessage(error);
    throw new InputError(`The document cannot be used: ${from}`, { why, hint: 'Nothing was changed.' });
  });
  const { proposals, questions } = proposeFromOpenApi(document, key.baseUrl);
  if (proposals.length === 0) {
    throw new InputError(`The document has no operation of the API: ${from}`, {
      hint: `Nothing was changed. Give the OpenAPI document of ${key.baseUrl}.`,
    });
  }
  const imported = Object.fromEntries(proposals.map(({ leaf, value }) => [leaf, value]));
  const before = await readContract(context, key);
  return {
    document: { from },
    changes: compare(new Contract({ imported: before.imported }), new Contract({ imported }), proposals),
    questions,
    write: () => writeImported(context.config.directory, key, imported),
  };
}
