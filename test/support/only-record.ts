import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { createArgs } from './cron.ts';
import { sendJson, startFakeService } from './fake-service.ts';
import { stateFile } from './job-service.ts';
import type { Ran } from './run.ts';
import { flipBit, lineAt, readJobLog } from './state-file.ts';

/** A job whose only record is in a state file that a test damages. The token may not read the service's list. */
interface OnlyRecord {
  readonly path: string;
  /** The file with only the record, on its second line. */
  readonly bytes: Buffer;
  /** Rewrites the file. */
  write(bytes: Uint8Array): void;
  /** The number of requests since that may have created something. */
  posts(): number;
  run(...args: string[]): Promise<Ran>;
  create(...more: string[]): Promise<Ran>;
}

/** @param kind the kind of the record: a reservation is the only record of a job whose process was killed */
export async function onlyRecord(kind: 'created' | 'reserved'): Promise<OnlyRecord> {
  const service = await startFakeService(({ method }, response, count) =>
    method === 'POST' ? sendJson(response, { id: `c${count}` }, 201) : sendJson(response, { code: 'forbidden' }, 403),
  );
  const { path, run } = stateFile();
  const act = (...args: string[]) => run(service, args);
  const create = (...more: string[]) => act(...createArgs('agt_1', 'daily'), ...more);
  expect((await create()).code).toBe(0);
  const record = (await readJobLog(path)).records.find((each) => each.kind === kind);
  return {
    path,
    bytes: Buffer.from(`\n${lineAt(path, record?.line ?? 0)}\n`),
    write: (bytes) => writeFileSync(path, bytes),
    posts: () => service.posts().length - 1,
    run: act,
    create,
  };
}

/** Creates the job again with the bit of its record flipped, and checks that nothing is sent and that the line is named. */
export async function expectBlocked(record: OnlyRecord, bit: number): Promise<void> {
  record.write(flipBit(record.bytes, bit));
  const { code, stderr } = await record.create();
  const isNamed = /state\.jsonl:[123] cannot be used: /.test(stderr);
  expect({ bit, code, isNamed, posts: record.posts() }).toEqual({ bit, code: 1, isNamed: true, posts: 0 });
}
