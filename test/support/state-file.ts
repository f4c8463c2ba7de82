import { readFileSync, writeFileSync } from 'node:fs';
import { run } from './run.ts';

/*
 * The state as its reader sees it: through `state show -o ndjson`, whatever the store and the format of its lines. Only damage is
 * done to the bytes of a file.
 */

/** A record as `state show -o ndjson` prints it. */
export interface StateRecord {
  readonly line: number;
  readonly type: string;
  readonly at: string;
  readonly id: string;
  readonly [field: string]: unknown;
}

export interface StateContent {
  readonly records: readonly StateRecord[];
  /** The warnings about lines that cannot be used. */
  readonly warnings: string;
}

/** Reads a state. @param address the path of a file, or the URL of a shared store */
export async function readState(
  address: string,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<StateContent> {
  const { code, stdout, stderr } = await run(['state', 'show', '-o', 'ndjson', '--state', address], { env });
  if (code !== 0) throw new Error(`state show ended with ${code}: ${stderr}`);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return { records: lines.map((line) => JSON.parse(line)), warnings: stderr };
}

/** The types of the records of a state, in order: `cron.reserved`, `cron.created`. */
export async function recordTypes(address: string): Promise<string[]> {
  return (await readState(address)).records.map(({ type }) => type);
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
