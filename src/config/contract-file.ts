import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Contract, type ContractLayers, type LeafValues, problemOf } from '../contract/contract.ts';
import { isJsonObject } from '../contract/json.ts';
import { DEFAULTS, isLeafName, LEAF_NAMES, type LeafName } from '../contract/leaves.ts';
import { UsageError } from '../errors.ts';
import { suggest } from '../platform/text.ts';
import { damagedFile, readJson, writeJson } from './json-file.ts';

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

async function contractPath(directory: string, { profile, baseUrl }: ContractKey): Promise<string> {
  const { hash } = await import('node:crypto');
  const name = hash('sha256', JSON.stringify([profile, baseUrl]), 'hex').slice(0, 24);
  return join(directory, 'contracts', `${name}.json`);
}

/** @param onUnknown called for a leaf that this version does not have @throws InputError for a value that one cannot have */
function readValues(path: string, layer: unknown, onUnknown: (name: string) => void): LeafValues {
  const values = new Map<LeafName, string>();
  for (const [name, value] of Object.entries(isJsonObject(layer) ? layer : {})) {
    if (!isLeafName(name)) {
      onUnknown(name);
      continue;
    }
    const problem = problemOf(name, String(value));
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
  const path = await contractPath(directory, key);
  const { overrides, imported } = readJson(path) ?? {};
  const unknown: string[] = [];
  const valuesOf = (layer: unknown) => readValues(path, layer, (name) => unknown.push(name));
  const contract = { override: valuesOf(overrides), imported: valuesOf(imported) };
  if (unknown.length > 0) await warn(`The contract has no ${unknown.join(', ')}, which ${path} sets: ignored.`);
  return contract;
}

/** Replaces the values that a profile has set or imported for a service. @throws as `writeJson` */
export async function writeContract(directory: string, key: ContractKey, contract: StoredContract): Promise<void> {
  const { override: overrides, imported } = contract;
  const content = { profile: key.profile, base_url: key.baseUrl, overrides, imported };
  await writeJson(await contractPath(directory, key), content);
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

/** Sets overrides, all together; undefined removes one. @returns old and new values @throws as `writeContract` */
export async function setLeaves(context: ContractContext, settings: ReadonlyMap<LeafName, string | undefined>) {
  const key = await context.contractKey();
  const before = await readContract(context, key);
  const override = { ...before.override };
  for (const [leaf, value] of settings) {
    if (value === undefined) delete override[leaf];
    else override[leaf] = value;
  }
  const after = { ...before, override };
  await writeContract(context.config.directory, key, after);
  const [old, current] = [new Contract(before), new Contract(after)];
  return [...settings.keys()].map((leaf) => {
    const { value, source } = current.leaf(leaf);
    return { leaf, value, previous: old.leaf(leaf).value, source, profile: key.profile, base_url: key.baseUrl };
  });
}
