import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeRecord } from '../../src/state/record.ts';
import { createArgs } from '../support/cron.ts';
import { expectBlocked, flipBit, onlyRecord } from '../support/damage.ts';
import { propertyRuns } from '../support/property-runs.ts';

/* A damaged line of the state file, and a list that the token may not read: the line may be the only evidence of a job. */

/** A bit in the middle of the value of a field. */
function bitIn(bytes: Buffer, field: string): number {
  return (bytes.indexOf(`"${field}":"`) + field.length + 5) * 8;
}

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

describe('a job whose only record is damaged', () => {
  it.each(['id', 'key', 'agent_id', 'name', 'cron_job_id', 'sum'])('in its %s blocks only that job', async (field) => {
    const record = await onlyRecord('created');
    record.write(flipBit(record.bytes, bitIn(record.bytes, field)));
    const blocked = await record.create();
    expect(blocked.code).toBe(9);
    expect(blocked.json()).toMatchObject({ status: 'unknown', cron_job_id: null });
    const warning = `warning: ${record.path}:2 cannot be used: changed after it was written: its checksum does not match\n`;
    const { error } = JSON.parse(blocked.stderr.slice(blocked.stderr.indexOf('{"error"')));
    expect(blocked.stderr).toContain(warning);
    expect(error).toMatchObject({
      type: 'outcome_unknown',
      hint: expect.stringMatching(
        /cron adopt '<cron_job_id>' --agent agt_1 --name daily.*\n.*cron forget --agent agt_1/,
      ),
      details: { line: 2, why: expect.stringContaining(`${record.path}:2, changed after it was written`) },
    });
    expect(record.posts()).toBe(0);
    expect((await record.run(...createArgs('agt_1', 'other'))).code).toBe(0);
    expect((await record.run(...createArgs('agt_2', 'daily'))).code).toBe(0);
  });

  it.each(['key', 'cron_job_id'])('in its %s can be created again once it is forgotten', async (field) => {
    const record = await onlyRecord('created');
    record.write(flipBit(record.bytes, bitIn(record.bytes, field)));
    const [forget = ''] = /(?<=partnerctl )cron forget [^"]*/.exec((await record.create()).stderr) ?? [];
    const forgotten = await record.run(...forget.split(' '), '--yes', '-o', 'json');
    expect(forgotten.json()).toMatchObject({ status: 'forgotten', agent_id: 'agt_1', name: 'daily' });
    expect((await record.create()).json()).toMatchObject({ status: 'created' });
    expect(record.posts()).toBe(1);
    expect((await record.create()).code).toBe(5);
  });

  it('can be forgotten by its key, but only once', async () => {
    const record = await onlyRecord('created');
    record.write(flipBit(record.bytes, bitIn(record.bytes, 'cron_job_id')));
    const { key } = (await record.create()).json<{ key: string }>();
    const forgotten = await record.run('cron', 'forget', key, '--yes', '-o', 'json');
    expect(forgotten.json()).toEqual({ status: 'forgotten', key, agent_id: null, name: null });
    expect((await record.run('cron', 'forget', key, '--yes')).code).toBe(4);
    expect((await record.create()).code).toBe(0);
  });

  it('exists once it is adopted', async () => {
    const record = await onlyRecord('created');
    record.write(flipBit(record.bytes, bitIn(record.bytes, 'cron_job_id')));
    const adopt = ['cron', 'adopt', 'c1', '--agent', 'agt_1', '--name', 'daily', '--yes'];
    expect((await record.run(...adopt)).code).toBe(0);
    expect((await record.create('--ensure')).json()).toMatchObject({ status: 'exists', cron_job_id: 'c1' });
    expect(record.posts()).toBe(0);
  });

  it('is shown by cron list and state verify, and blocks a dry run', async () => {
    const record = await onlyRecord('created');
    record.write(flipBit(record.bytes, bitIn(record.bytes, 'cron_job_id')));
    expect((await record.create('--dry-run')).code).toBe(9);
    expect((await record.run('cron', 'list', '--local')).stderr).toContain(`${record.path}:2 cannot be used`);
    expect((await record.run('state', 'verify')).stdout).toContain('line 2: changed after it was written');
  });
});

describe('a line whose job cannot be determined', () => {
  it.each([
    ['zeros', Buffer.alloc(400)],
    ['text', Buffer.from('the quick brown fox '.repeat(20))],
    ['more than a line may have', Buffer.alloc(2 * 1024 * 1024, 'x')],
    ['a record without its beginning', undefined],
  ])('blocks every job that has no record: %s', async (_, garbage) => {
    const record = await onlyRecord('reserved');
    const rest = record.bytes.subarray(record.bytes.indexOf('"schedule"'));
    const own = Buffer.concat([record.bytes, Buffer.from('\n'), garbage ?? rest, Buffer.from('\n')]);
    record.write(own);
    const other = createArgs('agt_1', 'other');
    expect((await record.run(...other)).code).toBe(9);
    const forgotten = await record.run('cron', 'forget', '--agent', 'agt_1', '--name', 'other', '--yes');
    expect(forgotten.code).toBe(0);
    expect((await record.run(...other)).code).toBe(0);
    expect((await record.run(...createArgs('agt_1', 'third'))).code).toBe(9);
    expect(readFileSync(record.path).subarray(0, own.length).equals(own)).toBe(true);
  });

  it('excludes lines too short for a record, records of other features, and records of another job', async () => {
    const record = await onlyRecord('created');
    const line = record.bytes.toString().trim();
    const others = [
      '<<<<<<< HEAD',
      'the quick brown fox',
      line.slice(0, 60),
      line.replace('cron.created', 'upload.done'),
      line.replace('"cron_job_id":"', '"cron_job_id":"x'),
    ];
    record.write(Buffer.from(`${others.join('\n')}\n`));
    expect((await record.run(...createArgs('agt_1', 'other'))).code).toBe(0);
    expect((await record.create()).code).toBe(9);
  });
});

describe('two records that an editor or a flipped bit joined into one line', () => {
  const head = { at: '2026-01-01T00:00:00.000Z', id: 'before', key: '0'.repeat(24) };
  it.each([
    ['the end of another job', { type: 'cron.released', ...head, reservation: 'r1', why: 'not_sent' }],
    ['another job', { type: 'cron.unknown', ...head, reservation: 'r1', why: 'no_answer' }],
    ['an upload', { type: 'upload.released', ...head, sent: 'r1', why: 'not_sent' }],
  ])('block the job of the second one: after %s', async (_, before) => {
    const record = await onlyRecord('created');
    const joined = Buffer.concat([Buffer.from(`\n${encodeRecord(before)}\v`), record.bytes.subarray(1)]);
    record.write(joined);
    expect((await record.create()).code).toBe(9);
    expect((await record.run(...createArgs('agt_1', 'other'))).code).toBe(0);
    record.write(joined);
    expect((await record.create('--dry-run')).code).toBe(9);
    expect(record.posts()).toBe(1);
  });
});

describe('a truncated record', () => {
  it('blocks nothing if it ends before its key: it was truncated while it was written, before anything was sent', async () => {
    const record = await onlyRecord('reserved');
    record.write(record.bytes.subarray(0, record.bytes.indexOf('"key":"') + 7));
    expect((await record.create()).code).toBe(0);
  });

  it('blocks the jobs that it may belong to if it ends in or after its key', async () => {
    const record = await onlyRecord('reserved');
    for (const length of [record.bytes.indexOf('"key":"') + 10, record.bytes.length - 30]) {
      record.write(record.bytes.subarray(0, length));
      expect((await record.create()).code).toBe(9);
      expect((await record.run(...createArgs('agt_1', 'other'))).code).toBe(0);
    }
  });
});
