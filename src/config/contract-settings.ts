import { Contract, checkLeaf, LeafValueError } from '../contract/contract.ts';
import { DEFAULTS, isLeafName, LEAF_NAMES, type LeafName } from '../contract/leaves.ts';
import { UsageError } from '../errors.ts';
import { suggest } from '../platform/suggest.ts';
import { type ContractKey, readContract, writeContract } from './contract-file.ts';

/** What reading and changing the contract needs of a command. */
export interface ContractContext {
  readonly config: { readonly directory: string };
  contractKey(): Promise<ContractKey>;
  warn(text: string): Promise<void>;
}

/** Returns the leaf with this name. @throws UsageError with a suggestion if there is none */
export function findLeaf(name: string): LeafName {
  if (isLeafName(name)) return name;
  const close = suggest(name, LEAF_NAMES);
  throw new UsageError(`The contract has no leaf ${JSON.stringify(name)}.`, {
    hint: close ? `Did you mean ${close}?` : 'List the leaves with: partnerctl contract show',
  });
}

/**
 * Parses leaves, each followed by its value.
 * @throws UsageError for a name without a value, an unknown leaf, and a value that the leaf cannot have
 */
export function parseSettings(words: readonly string[]): ReadonlyMap<LeafName, string> {
  if (words.length % 2 !== 0) {
    throw new UsageError(`${words.at(-1)} has no value. Each leaf must be followed by one.`, {
      hint: 'Quote a value that contains spaces.',
    });
  }
  const settings = new Map<LeafName, string>();
  for (let at = 0; at < words.length; at += 2) {
    const [name = '', value = ''] = words.slice(at, at + 2);
    const leaf = findLeaf(name);
    try {
      checkLeaf(leaf, value);
    } catch (error) {
      if (!(error instanceof LeafValueError)) throw error;
      throw new UsageError(`${leaf} ${error.message}.`, { hint: `Its default is: ${DEFAULTS[leaf]}` });
    }
    settings.set(leaf, value);
  }
  return settings;
}

/**
 * Overrides values, all together, or removes overrides.
 * @param settings undefined removes an override
 * @returns the previous and the new values @throws as `readContract` and `writeContract`
 */
export async function setLeaves(
  { config, contractKey, warn }: ContractContext,
  settings: ReadonlyMap<LeafName, string | undefined>,
) {
  const key = await contractKey();
  const before = await readContract(config.directory, key, warn);
  const override = { ...before.override };
  for (const [leaf, value] of settings) {
    if (value === undefined) delete override[leaf];
    else override[leaf] = value;
  }
  const after = { ...before, override };
  await writeContract(config.directory, key, after);
  const [old, current] = [new Contract(before), new Contract(after)];
  return [...settings.keys()].map((leaf) => {
    const { value, source } = current.leaf(leaf);
    return { leaf, value, previous: old.leaf(leaf).value, source, profile: key.profile, base_url: key.baseUrl };
  });
}
