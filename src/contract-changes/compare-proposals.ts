import { Contract, type ContractLayers } from '../contract/contract.ts';
import { LEAVES, type LeafName, type Source } from '../contract/leaves.ts';
import type { Proposal } from '../contract/proposal.ts';

/** What a proposed value changes. */
export interface ProposedChange {
  readonly leaf: LeafName;
  readonly old: string;
  readonly new: string;
  readonly old_source: Source;
  /**
   * `conflict` if the new value contradicts the specification, `overridden` if an override hides it, else `change`.
   */
  readonly status: 'change' | 'conflict' | 'overridden';
  readonly evidence: string;
}

/**
 * Compares proposed values with the effective ones.
 * @returns the changes, in the order of the proposals, and the leaves whose values stay the same
 */
export function compareProposals(
  proposals: readonly Proposal[],
  layers: ContractLayers,
): { readonly changes: readonly ProposedChange[]; readonly confirmed: readonly LeafName[] } {
  const current = new Contract(layers);
  const withoutOverrides = new Contract({ ...layers, override: {} });
  const changes: ProposedChange[] = [];
  const confirmed: LeafName[] = [];
  for (const { leaf, value, evidence } of proposals) {
    const { value: old, source } = current.leaf(leaf);
    if (withoutOverrides.leaf(leaf).value === value && (source !== 'override' || old === value)) {
      confirmed.push(leaf);
      continue;
    }
    // Not for trailing slashes: the client follows and records such redirects itself.
    const isFixedBySpec = LEAVES[leaf].source === 'spec' && LEAVES[leaf].kind !== 'slash';
    const isConflict = isFixedBySpec && value !== LEAVES[leaf].value;
    const status = isConflict ? 'conflict' : source === 'override' ? 'overridden' : 'change';
    changes.push({ leaf, old, new: value, old_source: source, status, evidence });
  }
  return { changes, confirmed };
}
