import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContractLayers, LeafValues } from '../contract/contract.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { checkLeaf, LeafValueError } from '../contract/leaf-value.ts';
import { isLeafName, type LeafName } from '../contract/leaves.ts';
import { describeFileError, InputError, LocalError } from '../errors.ts';
import { writeJson } from './write-json.ts';

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
    .digest('hex')
    .slice(0, 24);
  return join(contractsDirectory(directory), `${hash}.json`);
}

function damaged(path: string, why: string): InputError {
  return new InputError(`The contract in ${path} is damaged.`, {
    why,
    hint: 'Repair the file, or remove it and run `partnerctl contract set` or `contract import` again.',
  });
}

/** Reads a file of `updateContract`. @throws InputError if it is not JSON; LocalError if it cannot be read */
function readStored(path: string): JsonObject {
  let stored: unknown;
  try {
    stored = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) throw damaged(path, 'It is not JSON.');
    throw new LocalError(`The contract in ${path} cannot be read.`, { why: describeFileError(error), cause: error });
  }
  if (!isJsonObject(stored)) throw damaged(path, 'It is not a JSON object.');
  return stored;
}

/** @throws InputError if the leaf cannot have the value */
function readValue(path: string, name: LeafName, value: unknown): string {
  if (typeof value !== 'string') throw damaged(path, `${name} is not a text.`);
  try {
    checkLeaf(name, value);
  } catch (error) {
    throw error instanceof LeafValueError ? damaged(path, `${name} ${error.message}.`) : error;
  }
  return value;
}

/**
 * Reads the values that a profile has set or imported for a service.
 * @param directory the directory of the profiles
 * @param warn called if the file has leaves that this version does not have, which are ignored
 * @throws InputError if the file is damaged, LocalError if it cannot be read
 */
export async function readContract(directory: string, key: ContractKey, warn?: Warn): Promise<StoredContract> {
  // Most users have set nothing, and loading the hash for the path takes long.
  const path = existsSync(contractsDirectory(directory)) && (await contractPath(directory, key));
  if (!path || !existsSync(path)) return { override: {}, imported: {} };
  const stored = readStored(path);
  const unknown: string[] = [];
  const valuesIn = (layer: unknown): LeafValues => {
    const entries = Object.entries(isJsonObject(layer) ? layer : {});
    const values = entries.flatMap(([name, value]) => {
      if (isLeafName(name)) return [[name, readValue(path, name, value)] as const];
      unknown.push(name);
      return [];
    });
    return Object.fromEntries(values);
  };
  const contract = { override: valuesIn(stored.overrides), imported: valuesIn(stored.imported) };
  if (unknown.length > 0) await warn?.(`The contract has no ${unknown.join(', ')}, which ${path} sets: ignored.`);
  return contract;
}

/**
 * Changes the values that a profile has set or imported for a service.
 * @param warn as of `readContract` @returns the contract before the change and after it
 * @throws as `readContract` and `writeJson`
 */
export async function updateContract(
  directory: string,
  key: ContractKey,
  change: (contract: StoredContract) => StoredContract,
  warn?: Warn,
): Promise<{ readonly before: StoredContract; readonly after: StoredContract }> {
  const path = await contractPath(directory, key);
  const before = await readContract(directory, key, warn);
  const after = change(before);
  const { override: overrides, imported } = after;
  const content = { profile: key.profile, base_url: key.baseUrl, overrides, imported };
  await writeJson(path, `The contract in ${path}`, content);
  return { before, after };
}
