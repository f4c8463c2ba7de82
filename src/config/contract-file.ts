import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type ContractLayers, checkLeaf, LeafValueError, type LeafValues } from '../contract/contract.ts';
import { isJsonObject } from '../contract/json.ts';
import { isLeafName } from '../contract/leaves.ts';
import { damagedFile, readJson, writeJson } from './json-file.ts';

/** Identifies a contract: the service that it describes, and the profile whose overrides and imports apply. */
export interface ContractKey {
  readonly profile: string;
  readonly baseUrl: string;
}

/** The values that a profile has set or imported for a service. */
export type StoredContract = Required<ContractLayers>;

type Warn = (text: string) => Promise<void>;

function contractsDirectory(directory: string): string {
  return join(directory, 'contracts');
}

async function contractPath(directory: string, { profile, baseUrl }: ContractKey): Promise<string> {
  const { createHash } = await import('node:crypto');
  const hash = createHash('sha256')
    .update(JSON.stringify([profile, baseUrl]))
    .digest('hex');
  return join(contractsDirectory(directory), `${hash.slice(0, 24)}.json`);
}

/** Reads a layer. @param onUnknown called for an unknown leaf, which is ignored @throws InputError for a bad value */
function readValues(path: string, layer: unknown, onUnknown: (name: string) => void): LeafValues {
  const values = Object.entries(isJsonObject(layer) ? layer : {}).flatMap(([name, value]) => {
    if (!isLeafName(name)) {
      onUnknown(name);
      return [];
    }
    const text = String(value);
    try {
      checkLeaf(name, text);
    } catch (error) {
      throw error instanceof LeafValueError ? damagedFile(path, `${name} ${error.message}.`) : error;
    }
    return [[name, text] as const];
  });
  return Object.fromEntries(values);
}

/**
 * Reads the values that a profile has set or imported for a service.
 * @param directory the directory of the profiles
 * @param warn called if the file has leaves that this version does not have, which are ignored
 * @throws InputError if the file is damaged, LocalError if it cannot be read
 */
export async function readContract(directory: string, key: ContractKey, warn?: Warn): Promise<StoredContract> {
  // Most users have set nothing, and loading the hash for the path takes long.
  if (!existsSync(contractsDirectory(directory))) return { override: {}, imported: {} };
  const path = await contractPath(directory, key);
  const unknown: string[] = [];
  const valuesOf = (layer: unknown) => readValues(path, layer, (name) => unknown.push(name));
  const { overrides, imported } = readJson(path) ?? {};
  const contract = { override: valuesOf(overrides), imported: valuesOf(imported) };
  if (unknown.length > 0) await warn?.(`The contract has no ${unknown.join(', ')}, which ${path} sets: ignored.`);
  return contract;
}

/** Replaces the values that a profile has set or imported for a service. @throws as `writeJson` */
export async function writeContract(directory: string, key: ContractKey, contract: StoredContract): Promise<void> {
  const { override: overrides, imported } = contract;
  const content = { profile: key.profile, base_url: key.baseUrl, overrides, imported };
  await writeJson(await contractPath(directory, key), content);
}
