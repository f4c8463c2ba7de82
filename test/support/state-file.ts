import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { decode, encode } from '../../src/state/record.ts';
import { run } from './run.ts';

/*
 * The state as its reader sees it: through `state show -o ndjson`, whatever the store and the format of its lines. Only damage is
 * done to the bytes of a file.
 */

/** A record as `state show -o ndjson` prints it. */
interface StateRecord {
  readonly line: number;
  readonly type: string;
  readonly at: string;
  readonly id: string;
  readonly [field: string]: unknown;
}

interface StateContent {
  readonly records: readonly StateRecord[];
  /** The warnings about lines that cannot be used. */
  readonly warnings: string;
}

/** Reads a state. @param address the path of a file, or the URL of a shared store */
export async function readState(
  address: string,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<StateContent> {
  const { code, stdout, stderr } = await run(['state', 'show', '-o', 'ndjson', '--state', address], {
    env: { PATH: process.env.PATH, ...env },
  });
  if (code !== 0) throw new Error(`state show ended with ${code}: ${stderr}`);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return { records: lines.map((line) => JSON.parse(line)), warnings: stderr };
}

/** The types of the records of a state, in order: `cron.reserved`, `cron.created`. */
export async function recordTypes(address: string): Promise<string[]> {
  return (await readState(address)).records.map(({ type }) => type);
}

const JOB_RECORD_KINDS = ['reserved', 'created', 'released', 'unknown', 'forgotten'] as const;

export type JobRecordKind = (typeof JOB_RECORD_KINDS)[number];

interface JobRecord {
  readonly kind: JobRecordKind;
  /** The number of its line. */
  readonly line: number;
  /** Null where the record does not say it. */
  readonly name: string | null;
  readonly jobId: string | null;
}

interface JobLog {
  readonly records: readonly JobRecord[];
  /** The job ids in the records, in order. */
  readonly ids: readonly string[];
  /** Why lines are unusable. */
  readonly damage: readonly string[];
}

function toJobRecord({ type, line, data, object }: StateRecord): JobRecord[] {
  const kind = JOB_RECORD_KINDS.find((each) => type === `cron.${each}`);
  const { name = null } = Object(data);
  return kind ? [{ kind, line, name, jobId: typeof object === 'string' ? object : null }] : [];
}

/** Reads the records of jobs in a state. */
export async function readJobLog(
  address: string,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<JobLog> {
  const { records, warnings } = await readState(address, env);
  const jobs = records.flatMap(toJobRecord);
  return {
    records: jobs,
    ids: jobs.flatMap(({ jobId }) => jobId ?? []),
    damage: [...warnings.matchAll(/ cannot be used: (.*)/g)].map(([, why = '']) => why),
  };
}

/** The kinds of the records of jobs in a state, in order. */
export async function jobRecordKinds(address: string): Promise<JobRecordKind[]> {
  return (await readJobLog(address)).records.map(({ kind }) => kind);
}

/** Rewrites a state file so that no one waits longer than this for the owner of a reservation. */
export function shortenLeases(path: string, leaseMs: number): void {
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const records = lines.flatMap((line) => {
    const decoded = decode(line);
    return decoded.kind === 'record' ? [decoded.record] : [];
  });
  writeFileSync(path, records.map((record) => `\n${encode({ ...record, leaseMs })}\n`).join(''));
}

/** Replaces the bytes of a state file. */
export function damage(path: string, change: (bytes: Buffer) => Uint8Array | string): void {
  writeFileSync(path, change(readFileSync(path)));
}

/** The bytes with one bit flipped. */
export function flipBit(bytes: Buffer, bit: number): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return flipped;
}

/** A line of a state file by its number, as `state show` counts them. */
export function lineAt(path: string, line: number): string {
  return readFileSync(path, 'utf8').split('\n')[line - 1] ?? '';
}

/** An intact line as a newer version of the program would write it. */
export function asNewerVersion(line: string): string {
  const { sum: _, ...record } = JSON.parse(line);
  const covered = JSON.stringify({ ...record, v: record.v + 1 }).slice(0, -1);
  return withSum(covered);
}

function withSum(covered: string): string {
  return `${covered},"sum":"${hash('sha256', covered, 'hex').slice(0, 16)}"}`;
}

/** The line of a record, as this version of the program writes it. */
export function encodeLine(record: object): string {
  const fields = JSON.stringify(record).slice(1, -1);
  return withSum(`{"v":2,"bytes":${Buffer.byteLength(fields) + withSum('').length},${fields}`);
}
