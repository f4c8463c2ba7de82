import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createArgs } from './cron.ts';
import { sendJson, startFakeService } from './fake-service.ts';
import { type Ran, run, tempDirectory } from './run.ts';

/** A job whose only record is in a state file that a test damages. The token may not read the service's list. */
export interface OnlyRecord {
  readonly path: string;
  /** The file with only the record. */
  readonly bytes: Buffer;
  /** Rewrites the file. */
  write(bytes: Uint8Array): void;
  /** The number of jobs created since. */
  posts(): number;
  run(...args: string[]): Promise<Ran>;
  create(...more: string[]): Promise<Ran>;
}

/** @param kind the kind of the record: a reservation is the only record of a job whose process was killed */
export async function onlyRecord(kind: 'created' | 'reserved', name = 'daily'): Promise<OnlyRecord> {
  const service = await startFakeService(({ method }, response, count) =>
    method === 'POST' ? sendJson(response, { id: `c${count}` }, 201) : sendJson(response, { code: 'forbidden' }, 403),
  );
  const path = join(tempDirectory(), 'state.jsonl');
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'token' };
  // A command from a hint already has the flag.
  const act = (...args: string[]) => run(args.includes('--state') ? args : [...args, '--state', path], { env });
  const create = (...more: string[]) => act(...createArgs('agt_1', name), ...more);
  expect((await create()).code).toBe(0);
  const line = readFileSync(path, 'utf8')
    .split('\n')
    .find((each) => each.includes(`"cron.${kind}"`));
  return {
    path,
    bytes: Buffer.from(`\n${line}\n`),
    write: (all) => writeFileSync(path, all),
    posts: () => service.requests.filter(({ method }) => method === 'POST').length - 1,
    run: act,
    create,
  };
}

/** The bytes with one bit flipped. */
export function flipBit(bytes: Buffer, bit: number): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return flipped;
}

/** Creates the job again with the bit of its record flipped, and checks that nothing is sent. */
export async function expectBlocked(record: OnlyRecord, bit: number): Promise<void> {
  record.write(flipBit(record.bytes, bit));
  const { code } = await record.create();
  expect({ bit, blocked: code === 5 || code === 9, posts: record.posts() }).toEqual({ bit, blocked: true, posts: 0 });
}
