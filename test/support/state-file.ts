import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decode, encode } from '../../src/state/record.ts';
import { partnerctl, type RunOptions, run, tempDirectory } from './run.ts';

/*
 * The state as its reader sees it: through `state show -o ndjson`, whatever the store and the format of its lines. Only damage is
 * done to the bytes of a file.
 */

/** A record as `state show -o ndjson` prints it. */
interface StateRecord {
  readonly line: number;
  readonly type: string;
  readonly id: string;
  readonly [field: string]: unknown;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** A state file that does not exist yet, and runs with it in which waits take no time. */
export function stateFile() {
  const path = join(tempDirectory(), 'state.jsonl');
  return {
    path,
    run: ({ baseUrl }: { readonly baseUrl: string }, args: readonly string[], options: RunOptions = {}) =>
      partnerctl(baseUrl, args, { ...options, env: { PARTNER_STATE: path } }),
  };
}

/**
 * Reads a state: its records, and the warnings about lines that cannot be used.
 * @param address the path of a file, or the URL of a shared store
 */
export async function readState(address: string, env: Variables = {}) {
  const { code, stdout, stderr } = await run(['state', 'show', '-o', 'ndjson', '--state', address], {
    env: { PATH: process.env.PATH, ...env },
  });
  if (code !== 0) throw new Error(`state show ended with ${code}: ${stderr}`);
  const records: StateRecord[] = stdout.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)));
  return { records, warnings: stderr };
}

/** The types of the records of a state, in order. @param prefix takes only the types with it, and removes it */
export async function recordTypes(address: string, prefix = ''): Promise<string[]> {
  const types = (await readState(address)).records.map(({ type }) => type);
  return types.filter((type) => type.startsWith(prefix)).map((type) => type.slice(prefix.length));
}

/** The kinds of the records of jobs in a state, in order: `reserved`, `created`. */
export const jobRecordKinds = (address: string): Promise<string[]> => recordTypes(address, 'cron.');

/** Reads the records of jobs in a state, the job ids in them, and why lines are unusable. */
export async function readJobLog(address: string, env: Variables = {}) {
  const { records, warnings } = await readState(address, env);
  const jobs = records
    .filter(({ type }) => type.startsWith('cron.'))
    .map(({ type, line, object }) => ({ kind: type.slice('cron.'.length), line, id: object }));
  return {
    records: jobs,
    ids: jobs.flatMap(({ id }) => (typeof id === 'string' ? id : [])),
    damage: [...warnings.matchAll(/ cannot be used: (.*)/g)].map(([, why = '']) => why),
  };
}

/** Rewrites a state file so that no one waits longer than this for the owner of a reservation. */
export function shortenLeases(path: string, leaseMs: number): void {
  const lines = readFileSync(path, 'utf8').split('\n').map(decode);
  const records = lines.flatMap((line) => (line.kind === 'record' ? { ...line.record, leaseMs } : []));
  writeFileSync(path, records.map((record) => `\n${encode(record)}\n`).join(''));
}

/** The bytes with one bit flipped. */
export function flipBit(bytes: Buffer, bit: number): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return flipped;
}

/** An intact line as another version of the program would write it. */
export function asVersion(line: string, v: number): string {
  const { sum: _, ...record } = JSON.parse(line);
  return withSum(JSON.stringify({ ...record, v }).slice(0, -1));
}

/** A line with its checksum. @param covered the line up to that */
function withSum(covered: string): string {
  return `${covered},"sum":"${hash('sha256', covered, 'hex').slice(0, 16)}"}`;
}

/** The line of a record, as this version of the program writes it. */
export function encodeLine(record: object): string {
  const fields = JSON.stringify(record).slice(1, -1);
  return withSum(`{"v":2,"bytes":${Buffer.byteLength(fields) + withSum('').length},${fields}`);
}
