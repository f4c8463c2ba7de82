import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { sendJson, startFakeService } from '../support/fake-service.ts';
import { propertyRuns } from '../support/properties.ts';
import { manifest, write } from '../support/service.ts';
import { asVersion, encodeLine, flipBit, readJobLog, readState, stateFile } from '../support/state-file.ts';

/* A damaged line of the state may be the only evidence of a job: it stops every write until it is repaired. */

type OnlyRecord = Awaited<ReturnType<typeof onlyRecord>>;

/**
 * A job whose only record is in a state file that a test damages. The token may not read the service's list.
 * @param kind the kind of the record: a reservation is the only record of a job whose process was killed
 */
async function onlyRecord(kind: 'created' | 'reserved') {
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
    /** The file with only the record, on its second line. */
    bytes: Buffer.from(`\n${readFileSync(path, 'utf8').split('\n')[(record?.line ?? 0) - 1]}\n`),
    write: (bytes: Uint8Array) => writeFileSync(path, bytes),
    /** The number of requests since that may have created something. */
    posts: () => service.posts().length - 1,
    run: act,
    create,
  };
}

/** Creates the job again with the bit of its record flipped, and checks that nothing is sent and that the line is named. */
async function expectBlocked(record: OnlyRecord, bit: number): Promise<void> {
  record.write(flipBit(record.bytes, bit));
  const { code, stderr } = await record.create();
  const isNamed = /state\.jsonl:[123] cannot be used: /.test(stderr);
  expect({ bit, code, isNamed, posts: record.posts() }).toEqual({ bit, code: 1, isNamed: true, posts: 0 });
}

it.each(['created', 'reserved'] as const)(
  'one flipped bit in the only record (%s) of a job never allows the job to be created again',
  async (kind) => {
    const record = await onlyRecord(kind);
    const bits = record.bytes.length * 8;
    // Every bit in the slow tests, and otherwise some from all over the record.
    const step = propertyRuns(1, Math.ceil(bits / 5));
    for (let bit = 0; bit < bits; bit += step) await expectBlocked(record, bit);
  },
);

const CHANGED = 'changed after it was written';
const REPAIR = 'restore the line from a backup or from git';

/** What became of the line of the only record, and why it cannot be used. */
const DAMAGES: readonly (readonly [string, (line: string) => string | Uint8Array, string])[] = [
  ['a flipped bit', (line) => flipBit(Buffer.from(line), 2_000), CHANGED],
  ['zeros', (line) => Buffer.alloc(line.length), 'not a whole record'],
  ['text', () => 'the quick brown fox', 'not a whole record'],
  ['two records in one line', (line) => `${line}${line}`, CHANGED],
  [
    'a merge that was not finished',
    (line) => `<<<<<<< HEAD\n${line}\n=======\n${line}\n>>>>>>> theirs`,
    'a merge conflict marker',
  ],
  ['a newer version', (line) => asVersion(line, 3), 'written by a newer version of partnerctl (format 3)'],
  ['a format before the first', (line) => asVersion(line, 1), 'written in a format that was never released (1)'],
];

it.each(DAMAGES)(
  'a line that became %s stops every write until it is repaired, and is named with what to do',
  async (_, change, why) => {
    const record = await onlyRecord('created');
    const line = record.bytes.toString().trim();
    const bytes = Buffer.concat([Buffer.from('\n'), Buffer.from(change(line)), Buffer.from('\n')]);
    record.write(bytes);
    for (const args of [
      createArgs('agt_1', 'daily'),
      createArgs('agt_2', 'other', '--ensure'),
      ['upload', write('a.txt', 'a'), '-o', 'json'],
      ['provision', write('acme.yaml', manifest('acme')), '-o', 'json'],
      ['cron', 'adopt', 'c1', '--agent', 'agt_1', '--name', 'daily', '--yes', '-o', 'json'],
      ['cron', 'forget', '--agent', 'agt_1', '--name', 'daily', '--yes', '-o', 'json'],
      ['cron', 'reconcile', '-o', 'json'],
    ]) {
      const ran = await record.run(...args);
      expect(ran.code, args.join(' ')).toBe(1);
      expect(ran.error()).toMatchObject({
        type: 'local',
        message: `${record.path}:2 cannot be used: ${why}.`,
        hint: expect.stringContaining(REPAIR),
        details: { line: 2 },
      });
    }
    expect(record.posts()).toBe(0);
    expect(readFileSync(record.path).equals(bytes)).toBe(true);

    const stderr = expect.stringContaining(`${record.path}:2 cannot be used: ${why}`);
    expect(await record.run('state', 'show')).toMatchObject({ code: 0, stderr });
    expect(await record.run('state', 'verify')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`line 2: ${why}`),
      stderr: expect.stringContaining(REPAIR),
    });

    const isMerge = why.includes('conflict');
    record.write(isMerge ? Buffer.from(`${line}\n${line}\n`) : record.bytes);
    expect((await record.create('--ensure')).json()).toMatchObject({ status: 'exists', cron_job_id: 'c2' });
    expect((await record.run(...createArgs('agt_1', 'other'))).code).toBe(0);
    expect(record.posts()).toBe(1);
  },
);

it('an intact record that lacks a field stops the creation of every job: it may be that of a job that exists', async () => {
  const record = await onlyRecord('created');
  const { v: _v, bytes: _bytes, sum: _sum, data, ...rest } = JSON.parse(record.bytes.toString());
  const { agent_id: _, ...others } = data;
  record.write(Buffer.from(`${encodeLine({ ...rest, data: others })}\n`));
  for (const args of [createArgs('agt_1', 'daily'), createArgs('agt_2', 'other', '--ensure')]) {
    const ran = await record.run(...args);
    expect(ran.code, args.join(' ')).toBe(1);
    expect(ran.error()).toMatchObject({
      type: 'local',
      message: `The record ${rest.id} (cron.created) in the state lacks a field.`,
      hint: expect.stringContaining('Update partnerctl'),
    });
  }
  expect(record.posts()).toBe(0);
});

describe('a torn line', () => {
  it('is ignored wherever it was cut: its write was never acknowledged, so nothing was sent', async () => {
    const record = await onlyRecord('created');
    const line = record.bytes.toString().trim();
    const lengths = fc.integer({ min: 1, max: line.length - 1 });
    await fc.assert(
      fc.asyncProperty(lengths, async (length) => {
        record.write(Buffer.from(`${line}\n${line.slice(0, length)}\n`));
        expect((await record.create('--ensure')).json()).toMatchObject({ status: 'exists', cron_job_id: 'c2' });
      }),
      { numRuns: propertyRuns(20, 3) },
    );
    expect(record.posts()).toBe(0);
  });

  it('does not damage the next record', async () => {
    const record = await onlyRecord('created');
    record.write(record.bytes);
    appendFileSync(record.path, record.bytes.subarray(1, 201));
    expect((await record.run(...createArgs('agt_1', 'other'))).code).toBe(0);
    const { records, warnings } = await readState(record.path);
    expect(records.map(({ type }) => type)).toEqual(['cron.created', 'cron.reserved', 'cron.created']);
    expect(warnings).toBe('');
    expect((await record.run(...createArgs('agt_1', 'other'))).code).toBe(5);
    expect((await record.create()).code).toBe(5);
  });
});

it('a line that stands there twice counts once', async () => {
  const record = await onlyRecord('created');
  record.write(Buffer.concat([record.bytes, record.bytes]));
  expect((await record.create()).code).toBe(5);
  expect((await record.run('cron', 'forget', '--agent', 'agt_1', '--name', 'daily', '--yes')).code).toBe(0);
  expect((await record.create()).code).toBe(0);
  expect(record.posts()).toBe(1);
});
