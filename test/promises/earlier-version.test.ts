import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { startCronService } from '../support/cron.ts';
import { run } from '../support/run.ts';

/** A line as the version before wrote it: without a length. */
function line(record: Readonly<Record<string, unknown>>): string {
  const covered = JSON.stringify({ v: 1, ...record }).slice(0, -1);
  return `${covered},"sum":"${createHash('sha256').update(covered).digest('hex').slice(0, 16)}"}`;
}

const HEAD = { at: '2026-01-01T00:00:00.000Z', key: '0123456789abcdef01234567' };
const CONTENT = {
  schedule: { minute: '0', hour: '9', day_of_week: '1-5', timezone: 'UTC' },
  instructions_hash: null,
  content_hash: null,
};

/** Runs `cron create` with a state of the version before. */
async function createWith(records: readonly Readonly<Record<string, unknown>>[], ...more: readonly string[]) {
  const { service, cron, path } = await startCronService();
  const job = { origin: service.env.PARTNER_BASE_URL, agent_id: cron.agent_id, name: 'daily', ...CONTENT };
  const lines = records.map((record) => line({ ...HEAD, ...job, ...record }));
  writeFileSync(path, lines.map((each) => `${each}\n`).join(''));
  const { code, stdout } = await run([...cron.create('daily', ...more), '--state', path], { env: service.env });
  return { code, status: JSON.parse(stdout).status, posted: await cron.posted() };
}

const OWNER = { owner: { machine: 'm', pid: 1, started: null }, until: null, seen: null };
const RESERVED = { type: 'cron.reserved', id: 'r1', ...OWNER };

describe('In a state of the version before,', () => {
  it.each([
    [
      'a job that was created exists',
      [RESERVED, { type: 'cron.created', id: 'c1', reservation: 'r1', cron_job_id: 'x' }],
      5,
    ],
    ['a job that was adopted exists', [{ type: 'cron.adopted', id: 'a1', reservation: null, cron_job_id: 'x' }], 5],
    ['an open reservation blocks its job', [RESERVED], 9],
    [
      'an unknown outcome blocks its job',
      [RESERVED, { type: 'cron.unknown', id: 'u1', reservation: 'r1', why: 'x' }],
      9,
    ],
  ])('%s', async (_, records, code) => {
    expect(await createWith(records)).toMatchObject({ code, posted: 0 });
  });

  it.each([
    ['released', [RESERVED, { type: 'cron.released', id: 'l1', reservation: 'r1', why: 'x' }]],
    ['forgotten', [RESERVED, { type: 'cron.forgotten', id: 'f1', records: ['r1'] }]],
    ['a record of something else', [{ type: 'message.sent', id: 'm1' }]],
  ])('a job is created if there is only %s', async (_, records) => {
    expect(await createWith(records)).toEqual({ code: 0, status: 'created', posted: 1 });
  });
});
