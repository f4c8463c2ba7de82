import { Contract, type ContractLayers } from '../contract/contract.ts';
import { LEAVES, type LeafName, type Source } from '../contract/leaves.ts';

/** A value that a document or recorded traffic gives a leaf, and where it says so. */
export interface ProposedValue {
  readonly leaf: LeafName;
  readonly value: string;
  readonly evidence: string;
}

/** What a proposed value changes. */
export interface ProposedChange {
  readonly leaf: LeafName;
  readonly old: string;
  readonly new: string;
  readonly old_source: Source;
  /**
   * `conflict` if the new value contradicts the specification, `overridden` if an override hides it, `ambiguous` if there
   * is evidence for several values, else `change`.
   */
  readonly status: 'change' | 'conflict' | 'overridden' | 'ambiguous';
  readonly evidence: string;
}

/**
 * Compares proposed values with what is in force. Pure.
 * @returns the changes, in the order of the proposals, and the leaves that stay as they are
 */
export function compareProposals(
  proposals: readonly ProposedValue[],
  layers: ContractLayers,
): { readonly changes: readonly ProposedChange[]; readonly confirmed: readonly LeafName[] } {
  const current = new Contract(layers);
  const withoutOverrides = new Contract({ ...layers, override: {} });
  const changes: ProposedChange[] = [];
  const confirmed: LeafName[] = [];
  for (const { leaf, value, evidence } of proposals) {
    const { value: old, source } = current.leaf(leaf);
    if (withoutOverrides.leaf(leaf).value === value) {
      confirmed.push(leaf);
      continue;
    }
    // The client itself follows redirects to the other trailing slash, and remembers them.
    const isOfSpec = LEAVES[leaf].source === 'spec' && LEAVES[leaf].kind !== 'slash';
    const isConflict = isOfSpec && value !== LEAVES[leaf].value;
    const status = isConflict ? 'conflict' : source === 'override' ? 'overridden' : 'change';
    changes.push({ leaf, old, new: value, old_source: source, status, evidence });
  }
  return { changes, confirmed };
}
