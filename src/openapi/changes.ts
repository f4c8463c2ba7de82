import { Contract, type ContractLayers } from '../contract/contract.ts';
import { isLeafName, LEAVES, type LeafName } from '../contract/leaves.ts';
import type { Source } from '../contract/sources.ts';
import type { Proposal } from './propose.ts';

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

/** Many frameworks document paths without the trailing slash, which is no other path. */
function isSameButSlash(one: string, other: string): boolean {
  return one.replace(/\/$/, '') === other.replace(/\/$/, '');
}

/** Returns the proposals, and the defaults of what was imported before and the document does not say. */
function replacing(proposals: readonly Proposal[], { imported = {} }: ContractLayers): readonly Proposal[] {
  const said = new Set<string>(proposals.map(({ leaf }) => leaf));
  const dropped = Object.keys(imported).filter((name) => !said.has(name));
  const evidence = 'no longer in the document';
  return [...proposals, ...dropped.filter(isLeafName).map((leaf) => ({ leaf, value: LEAVES[leaf].value, evidence }))];
}

/**
 * Compares proposed values with the effective ones.
 * @param isWhole whether they replace all that was imported before
 * @returns the changes, in the order of the proposals, and the leaves whose values stay the same
 */
export function compareProposals(
  proposals: readonly Proposal[],
  layers: ContractLayers,
  isWhole: boolean,
): { readonly changes: readonly ProposedChange[]; readonly confirmed: readonly LeafName[] } {
  const current = new Contract(layers);
  const withoutOverrides = new Contract({ ...layers, override: {} });
  const changes: ProposedChange[] = [];
  const confirmed: LeafName[] = [];
  for (const { leaf, value, evidence } of isWhole ? replacing(proposals, layers) : proposals) {
    const { value: old, source } = current.leaf(leaf);
    if (withoutOverrides.leaf(leaf).value === value && (source !== 'override' || old === value)) {
      confirmed.push(leaf);
      continue;
    }
    const isConflict = LEAVES[leaf].source === 'spec' && !isSameButSlash(value, LEAVES[leaf].value);
    const status = isConflict ? 'conflict' : source === 'override' ? 'overridden' : 'change';
    changes.push({ leaf, old, new: value, old_source: source, status, evidence });
  }
  return { changes, confirmed };
}
