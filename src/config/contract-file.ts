import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Contract, type ContractLayers, type LeafValues } from '../contract/contract.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { problemOf } from '../contract/leaf-values.ts';
import { DEFAULTS, isLeafName, LEAF_NAMES, type LeafName } from '../contract/leaves.ts';
import { UsageError } from '../errors.ts';
import { suggest } from '../platform/text.ts';
import { JsonDirectory } from './json-directory.ts';
import { damagedFile } from './json-file.ts';

/** Identifies a contract: the service that it describes, and the profile whose overrides and imports apply. */
export interface ContractKey {
  readonly profile: string;
  readonly baseUrl: string;
}

/** The values that a profile has set or imported for a service. */
export type StoredContract = Required<ContractLayers>;

/** What reading and changing the contract needs of a command. */
export interface ContractContext {
  readonly config: { readonly directory: string };
  contractKey(): Promise<ContractKey>;
  warn(text: string): Promise<void>;
}

/** The entry of what was imported, which is replaced as a whole. Any other is an override, named after its leaf. */
const IMPORTED = 'imported';

async function openContract(directory: string, { profile, baseUrl }: ContractKey): Promise<JsonDirectory> {
  const { hash } = await import('node:crypto');
  const path = join(directory, 'contracts', hash('sha256', JSON.stringify([profile, baseUrl]), 'hex').slice(0, 24));
  return new JsonDirectory(path, { path: `${path}.json`, split: splitContract });
}

/** Returns the entries of the file that earlier versions wrote. */
function splitContract({ overrides, imported, ...key }: JsonObject): ReadonlyMap<string, JsonObject> {
  const values = Object.entries({ ...(isJsonObject(overrides) && overrides), [IMPORTED]: imported });
  return new Map(values.map(([name, value]) => [name, { ...key, value }]));
}

/** A leaf, its value, and the file that says so. */
type StoredLeaf = readonly [name: string, value: unknown, path: string];

/** @param onUnknown called for a leaf that this version does not have @throws InputError for a value that one cannot have */
function readValues(leaves: readonly StoredLeaf[], onUnknown: (name: string) => void): LeafValues {
  const values = new Map<LeafName, string>();
  for (const [name, value, path] of leaves) {
    if (!isLeafName(name)) {
      onUnknown(name);
      continue;
    }
    const problem = typeof value === 'string' ? problemOf(name, value) : 'has no value';
    if (problem !== undefined) throw damagedFile(path, `${name} ${problem}.`);
    values.set(name, String(value));
  }
  return Object.fromEntries(values);
}

/**
 * Reads the values that a profile has set or imported for a service. Warns of leaves that this version does not have,
 * which are ignored.
 * @throws InputError if the file is damaged, LocalError if it cannot be read
 */
export async function readContract(
  { config: { directory }, warn }: Pick<ContractContext, 'config' | 'warn'>,
  key: ContractKey,
): Promise<StoredContract> {
  // Most users have set nothing, and loading the hash for the path takes long.
  if (!existsSync(join(directory, 'contracts'))) return { override: {}, imported: {} };
  const entries = await openContract(directory, key);
  const overrides = entries.names().flatMap((name): StoredLeaf[] => {
    const content = name === IMPORTED ? undefined : entries.read(name);
    // Another command may just have removed it.
    return content ? [[name, content.value, entries.pathOf(name)]] : [];
  });
  const { value: imported } = entries.read(IMPORTED) ?? {};
  const leaves = Object.entries(isJsonObject(imported) ? imported : {});
  const path = entries.pathOf(IMPORTED);
  const unknown: string[] = [];
  const onUnknown = (name: string): void => void unknown.push(name);
  const contract = {
    override: readValues(overrides, onUnknown),
    imported: readValues(
      leaves.map(([name, value]) => [name, value, path]),
      onUnknown,
    ),
  };
  if (unknown.length > 0)
    await warn(`The contract has no ${unknown.join(', ')}, which ${entries.pathOf()} sets: ignored.`);
  return contract;
}

/** Replaces all that a profile has imported for a service. @throws as `JsonDirectory.change` */
export async function writeImported(directory: string, key: ContractKey, value: LeafValues): Promise<void> {
  const entries = await openContract(directory, key);
  await entries.change(IMPORTED, () => ({ profile: key.profile, base_url: key.baseUrl, value }));
}

/** Returns the leaf with this name. @throws UsageError with a suggestion if there is none */
export function findLeaf(name: string): LeafName {
  if (isLeafName(name)) return name;
  const close = suggest(name, LEAF_NAMES);
  throw new UsageError(`The contract has no leaf ${JSON.stringify(name)}.`, {
    hint: close ? `Did you mean ${close}?` : 'List the leaves with: partnerctl contract show',
  });
}

/** Parses leaves, each followed by its value. @throws UsageError for an unknown leaf, and a missing or invalid value */
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
    const problem = problemOf(leaf, value);
    if (problem !== undefined) {
      throw new UsageError(`${leaf} ${problem}.`, { hint: `Its default is: ${DEFAULTS[leaf]}` });
    }
    settings.set(leaf, value);
  }
  return settings;
}

/** Sets overrides; undefined removes one. @returns old and new values @throws as `JsonDirectory.change` */
export async function setLeaves(context: ContractContext, settings: ReadonlyMap<LeafName, string | undefined>) {
  const key = await context.contractKey();
  const about = { profile: key.profile, base_url: key.baseUrl };
  const before = await readContract(context, key);
  const entries = await openContract(context.config.directory, key);
  const override = { ...before.override };
  for (const [leaf, value] of settings) {
    delete override[leaf];
    if (value === undefined) await entries.remove(leaf);
    else {
      await entries.change(leaf, () => ({ ...about, value }));
      override[leaf] = value;
    }
  }
  const [old, current] = [new Contract(before), new Contract({ ...before, override })];
  return [...settings.keys()].map((leaf) => {
    const { value, source } = current.leaf(leaf);
    return { leaf, value, previous: old.leaf(leaf).value, source, ...about };
  });
}
