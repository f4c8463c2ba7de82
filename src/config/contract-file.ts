import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Contract, type ContractLayers, type LeafValues } from '../contract/contract.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { problemOf } from '../contract/leaf-values.ts';
import { DEFAULTS, isLeafName, LEAF_NAMES, type LeafName } from '../contract/leaves.ts';
import { UsageError } from '../errors.ts';
import { suggest } from '../platform/text.ts';
import { damagedFile, JsonDirectory } from './json-directory.ts';
import type { Profiles } from './profiles.ts';
import { resolveService, type SettingsContext } from './settings.ts';

/** Identifies a contract: the service that it describes, and the profile whose overrides and imports apply. */
export interface ContractKey {
  readonly profile: string;
  readonly baseUrl: string;
}

/** The values that a profile has set or imported for a service. */
export type StoredContract = Required<ContractLayers>;

/** Returns what the contract in use is stored under. @throws as `resolveService` */
export function contractKey(context: SettingsContext): ContractKey {
  const { baseUrl, profile } = resolveService(context);
  return { profile: profile.value, baseUrl: baseUrl.value };
}

/** What reading and changing the contract needs of a command. */
export interface ContractContext extends SettingsContext {
  readonly config: Profiles & { readonly directory: string };
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

/** Returns the leaves of an entry with their values. @throws InputError for a value that a leaf of this version cannot have */
function leavesIn(entries: JsonDirectory, entry: string): readonly (readonly [name: string, value: string])[] {
  // Another command may just have removed it.
  const { value } = entries.read(entry) ?? { value: {} };
  return (isJsonObject(value) ? Object.entries(value) : [[entry, value] as const]).map(([name, text]) => {
    const problem = isLeafName(name) && (typeof text === 'string' ? problemOf(name, text) : 'has no value');
    if (problem) throw damagedFile(entries.pathOf(entry), `${name} ${problem}.`);
    return [name, String(text)];
  });
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
  const imported = leavesIn(entries, IMPORTED);
  const override = entries.names().flatMap((entry) => (entry === IMPORTED ? [] : leavesIn(entries, entry)));
  const unknown = [...override, ...imported].flatMap(([name]) => (isLeafName(name) ? [] : [name]));
  if (unknown.length > 0)
    await warn(`The contract has no ${unknown.join(', ')}, which ${entries.pathOf()} sets: ignored.`);
  return { override: Object.fromEntries(override), imported: Object.fromEntries(imported) };
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
  const key = contractKey(context);
  const about = { profile: key.profile, base_url: key.baseUrl };
  const before = await readContract(context, key);
  const entries = await openContract(context.config.directory, key);
  for (const [leaf, value] of settings)
    await entries.change(leaf, () => (value === undefined ? undefined : { ...about, value }));
  const after = await readContract({ ...context, warn: async () => undefined }, key);
  const [old, current] = [new Contract(before), new Contract(after)];
  return [...settings.keys()].map((leaf) => {
    const { value, source } = current.leaf(leaf);
    return { leaf, value, previous: old.leaf(leaf).value, source, ...about };
  });
}
