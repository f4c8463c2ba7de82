import { accessSync, constants, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ContractLayers, LeafValues } from '../contract/contract.ts';
import { isJsonObject } from '../contract/json.ts';
import { checkLeaf, LeafValueError } from '../contract/leaf-value.ts';
import { isLeafName } from '../contract/leaves.ts';
import { describeFileError, InputError, LocalError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { writeJson } from './write-json.ts';

/** Identifies a contract: the service that it describes, and the profile whose overrides and imports apply. */
export interface ContractKey {
  readonly profile: string;
  readonly baseUrl: string;
}

/** The OpenAPI document that values were imported from. */
export interface ImportedDocument {
  /** The path or URL that the user gave. */
  readonly from: string;
  readonly sha256: string;
  /** ISO 8601. */
  readonly imported_at: string;
}

/** The values that a profile has set or imported for a service. */
export interface StoredContract {
  readonly overrides: LeafValues;
  readonly imported: LeafValues;
  readonly document?: ImportedDocument | undefined;
}

type Warn = (text: string) => Promise<void>;

const NOTHING: StoredContract = { overrides: {}, imported: {} };

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

function canSearch(directory: string): boolean {
  try {
    accessSync(directory, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Reads a file or a directory of contracts.
 * @returns undefined if it does not exist
 * @throws InputError if it is not JSON; LocalError if it cannot be read
 */
function readIfPresent<Content>(path: string, read: () => Content): Content | undefined {
  try {
    return read();
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined;
    if (error instanceof SyntaxError) throw damaged(path, 'It is not JSON.');
    // HOME is another user's, as with sudo: this user has no contracts there.
    if (errorCode(error) === 'EACCES' && !canSearch(dirname(path))) return undefined;
    throw new LocalError(`The contract in ${path} cannot be read.`, { why: describeFileError(error), cause: error });
  }
}

function damaged(path: string, why: string): InputError {
  return new InputError(`The contract in ${path} is damaged.`, {
    why,
    hint: 'Repair the file, or remove it and run `partnerctl contract set` or `contract import` again.',
  });
}

function readDocument(stored: unknown): ImportedDocument | undefined {
  if (!isJsonObject(stored)) return undefined;
  const { from, sha256, imported_at } = stored;
  const isComplete = typeof from === 'string' && typeof sha256 === 'string' && typeof imported_at === 'string';
  return isComplete ? { from, sha256, imported_at } : undefined;
}

/**
 * Reads the values that a profile has set or imported for a service.
 * @param directory the directory of the profiles
 * @param warn called if the file has leaves that this version does not have, which are ignored
 * @throws InputError if the file is damaged, LocalError if it cannot be read
 */
export async function readContract(directory: string, key: ContractKey, warn?: Warn): Promise<StoredContract> {
  const path = await contractPath(directory, key);
  const stored = readIfPresent(path, (): unknown => JSON.parse(readFileSync(path, 'utf8')));
  if (stored === undefined) return NOTHING;
  if (!isJsonObject(stored)) throw damaged(path, 'It is not a JSON object.');
  const unknown: string[] = [];
  const valuesIn = (layer: unknown): LeafValues => {
    const values: Record<string, string> = {};
    for (const [name, value] of Object.entries(isJsonObject(layer) ? layer : {})) {
      if (!isLeafName(name)) {
        unknown.push(name);
        continue;
      }
      if (typeof value !== 'string') throw damaged(path, `${name} is not a text.`);
      try {
        checkLeaf(name, value);
      } catch (error) {
        throw error instanceof LeafValueError ? damaged(path, `${name} ${error.message}.`) : error;
      }
      values[name] = value;
    }
    return values;
  };
  const contract = {
    overrides: valuesIn(stored.overrides),
    imported: valuesIn(stored.imported),
    document: readDocument(stored.document),
  };
  if (unknown.length > 0) await warn?.(`The contract has no ${unknown.join(', ')}, which ${path} sets: ignored.`);
  return contract;
}

/** Reads the layers of a service's contract. @param warn and @throws as `readContract` */
export async function readContractLayers(directory: string, key: ContractKey, warn?: Warn): Promise<ContractLayers> {
  const path = contractsDirectory(directory);
  // Not in a thread: starting the first one takes longer.
  const names = readIfPresent(path, () => readdirSync(path)) ?? [];
  // Most users have set nothing, and loading the hash for the path takes long.
  const { overrides, imported } = names.length > 0 ? await readContract(directory, key, warn) : NOTHING;
  return { override: overrides, imported };
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
  const content = { profile: key.profile, base_url: key.baseUrl, ...after };
  await writeJson(path, `The contract in ${path}`, content);
  return { before, after };
}
