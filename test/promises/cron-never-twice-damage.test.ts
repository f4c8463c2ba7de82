import { appendFileSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { expectBlocked, onlyRecord } from '../support/only-record.ts';
import { propertyRuns } from '../support/properties.ts';
import { manifest, write } from '../support/service.ts';
import { asNewerVersion, flipBit, lineAt, readState } from '../support/state-file.ts';

/* A damaged line of the state may be the only evidence of a job: it stops every write until it is repaired. */

it.each(['created', 'reserved'] as const)(
  'one flipped bit in the only record (%s) of a job never allows the job to be created again',
  async (kind) => {
    const record = await onlyRecord(kind);
    const bits = fc.integer({ min: 0, max: record.bytes.length * 8 - 1 });
    await fc.assert(
      fc.asyncProperty(bits, (bit) => expectBlocked(record, bit)),
      { numRuns: propertyRuns(20) },
    );
  },
);

const CHANGED = 'changed after it was written';
const RESTORE = 'Restore the line from a backup or from git.';

/** What became of the line of the only record, why it cannot be used, and how the hint says to repair it. */
const DAMAGES: readonly (readonly [string, (line: string) => string | Uint8Array, string, string])[] = [
  ['a flipped bit', (line) => flipBit(Buffer.from(line), 2_000), CHANGED, RESTORE],
  ['another id', (line) => line.replace('"object":"c', '"object":"d'), CHANGED, RESTORE],
  ['zeros', (line) => Buffer.alloc(line.length), 'not a whole record', RESTORE],
  ['text', () => 'the quick brown fox', 'not a whole record', RESTORE],
  ['a record without its beginning', (line) => line.slice(40), CHANGED, RESTORE],
  ['two records in one line', (line) => `${line}${line}`, CHANGED, RESTORE],
  ['more than a line may have', () => Buffer.alloc(2 * 1024 * 1024, 'x'), 'not a whole record', RESTORE],
  [
    'a merge that was not finished',
    (line) => `<<<<<<< HEAD\n${line}\n=======\n${line}\n>>>>>>> theirs`,
    'a merge conflict marker',
    'Remove the conflict markers and keep the records of both sides.',
  ],
  ['a newer version', asNewerVersion, 'written by a newer version of partnerctl (format 3)', 'Update partnerctl.'],
];

it.each(DAMAGES)(
  'a line that became %s stops every write until it is repaired, and is named with what to do',
  async (_, change, why, repair) => {
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
        hint: expect.stringContaining(repair),
        details: { line: 2 },
      });
    }
    expect(record.posts()).toBe(0);
    expect(readFileSync(record.path).equals(bytes)).toBe(true);

    for (const args of [
      ['cron', 'list', '--local'],
      ['state', 'show'],
    ]) {
      const stderr = expect.stringContaining(`${record.path}:2 cannot be used: ${why}`);
      expect(await record.run(...args)).toMatchObject({ code: 0, stderr });
    }
    expect(await record.run('state', 'verify')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`line 2: ${why}`),
      stderr: expect.stringContaining(repair),
    });

    const isMerge = why.includes('conflict');
    record.write(isMerge ? Buffer.from(`${line}\n${line}\n`) : record.bytes);
    expect((await record.create('--ensure')).json()).toMatchObject({ status: 'exists', cron_job_id: 'c2' });
    expect((await record.run(...createArgs('agt_1', 'other'))).code).toBe(0);
    expect(record.posts()).toBe(1);
  },
);

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
      { numRuns: propertyRuns(20) },
    );
    expect(record.posts()).toBe(0);
  });

  it('does not damage the next record', async () => {
    const record = await onlyRecord('created');
    record.write(record.bytes);
    appendFileSync(record.path, lineAt(record.path, 2).slice(0, 200));
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
