import { closestMatch } from 'leven';
import { checkLeaf } from '../contract/check-leaf.ts';
import { Contract, type Leaf } from '../contract/contract.ts';
import { LeafValueError } from '../contract/leaf-value.ts';
import { isLeafName, LEAVES, type LeafName } from '../contract/leaves.ts';
import type { Source } from '../contract/sources.ts';
import { UsageError } from '../errors.ts';
import {
  type ContractKey,
  type ImportedDocument,
  readContract,
  readContractLayers,
  updateContract,
} from './contract-file.ts';

/** What reading and changing the contract needs of a command. */
export interface ContractContext {
  readonly config: { readonly directory: string };
  contractKey(): Promise<ContractKey>;
  warn(text: string): Promise<void>;
}

/** A value to set. */
interface Setting {
  readonly leaf: LeafName;
  readonly value: string;
}

const MAX_DISTANCE = 6;

/** Returns the leaf with this name. @throws UsageError with a suggestion if there is none */
export function findLeaf(name: string): LeafName {
  if (isLeafName(name)) return name;
  const close = closestMatch(name.toLowerCase(), Object.keys(LEAVES), { maxDistance: MAX_DISTANCE });
  throw new UsageError(`The contract has no leaf ${JSON.stringify(name)}.`, {
    hint: close ? `Did you mean ${close}?` : 'List the leaves with: partnerctl contract show',
  });
}

function parseSetting(name: string, value: string): Setting {
  const leaf = findLeaf(name);
  try {
    checkLeaf(leaf, value);
  } catch (error) {
    if (!(error instanceof LeafValueError)) throw error;
    throw new UsageError(`${leaf} ${error.message}.`, { hint: `Its default is: ${LEAVES[leaf].value}` });
  }
  return { leaf, value };
}

/**
 * Parses leaves, each followed by its value.
 * @throws UsageError for a name without a value, an unknown leaf, and a value that the leaf cannot have
 */
export function parseSettings(words: readonly string[]): readonly Setting[] {
  if (words.length % 2 !== 0) {
    throw new UsageError(`${words.at(-1)} has no value. Each leaf must be followed by one.`, {
      hint: 'Quote a value that contains spaces.',
    });
  }
  const names = words.filter((_, index) => index % 2 === 0);
  return names.map((name, index) => parseSetting(name, words[2 * index + 1] ?? ''));
}

/**
 * Returns the leaves whose names start with a prefix, and the document that values were imported from.
 * @param key undefined for the contract without the settings of a profile
 * @throws UsageError if no leaf starts with the prefix; as `readContract`
 */
export async function readLeaves(
  { config, warn }: ContractContext,
  key: ContractKey | undefined,
  prefix: string,
): Promise<{ readonly leaves: readonly Leaf[]; readonly document: ImportedDocument | undefined }> {
  if (!Object.keys(LEAVES).some((name) => name.startsWith(prefix))) findLeaf(prefix);
  const stored = key && (await readContract(config.directory, key, warn));
  const contract = new Contract(stored && { override: stored.overrides, imported: stored.imported });
  return { leaves: contract.leaves().filter(({ name }) => name.startsWith(prefix)), document: stored?.document };
}

/** Overrides values, all together. @returns the new and previous values @throws as `updateContract` */
export async function setLeaves(context: ContractContext, settings: readonly Setting[]) {
  const { directory } = context.config;
  const key = await context.contractKey();
  const before = new Contract(await readContractLayers(directory, key, context.warn));
  const values = Object.fromEntries(settings.map(({ leaf, value }) => [leaf, value]));
  await updateContract(directory, key, (stored) => ({ ...stored, overrides: { ...stored.overrides, ...values } }));
  return settings.map(({ leaf, value }) => {
    return { leaf, value, previous: before.leaf(leaf).value, profile: key.profile, base_url: key.baseUrl };
  });
}

/** Removes an override. @returns the value that applies now, and its source @throws as `updateContract` */
export async function unsetLeaf(
  context: ContractContext,
  leaf: LeafName,
): Promise<{ leaf: LeafName; value: string; source: Source; profile: string; base_url: string }> {
  const { directory } = context.config;
  const key = await context.contractKey();
  await updateContract(directory, key, (stored) => {
    const { [leaf]: _, ...overrides } = stored.overrides;
    return { ...stored, overrides };
  });
  const { value, source } = new Contract(await readContractLayers(directory, key)).leaf(leaf);
  return { leaf, value, source, profile: key.profile, base_url: key.baseUrl };
}
