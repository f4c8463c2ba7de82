import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createArgs, jobService, startCronService } from '../support/cron.ts';
import { fastClock, run } from '../support/run.ts';
import { stateFile, withSum } from '../support/state-file.ts';

/** A line of the state as version 1 of its format wrote it: with a checksum, but without a length. */
function encodeVersion1(record: object): string {
  return withSum(JSON.stringify({ v: 1, ...record }).slice(0, -1));
}

/** A job as version 1 recorded it. It derived the key from the agent_id and the name as typed. */
function version1Job(origin: string, agent_id: string, name: string) {
  return {
    at: '2026-01-01T00:00:00.000Z',
    key: hash('sha256', JSON.stringify([origin, agent_id, name]), 'hex').slice(0, 24),
    origin,
    agent_id,
    name,
    schedule: { minute: '0', hour: '9', day_of_week: '1-5', timezone: 'UTC' },
    instructions_hash: null,
    content_hash: null,
  };
}

/** Writes a state of version 1 with these records of a job. */
function writeVersion1(path: string, job: ReturnType<typeof version1Job>, ...records: readonly object[]): void {
  writeFileSync(path, records.map((record) => `${encodeVersion1({ ...job, ...record })}\n`).join(''));
}

const OWNER = { owner: { machine: 'm', pid: 1, started: null }, until: null, seen: null };
const RESERVED = { type: 'cron.reserved', id: 'r1', ...OWNER };
const CREATED = { type: 'cron.created', id: 'c1', reservation: 'r1', cron_job_id: 'x' };

/** Runs `cron create` with a state of the version before. */
async function createWith(records: readonly Readonly<Record<string, unknown>>[], ...more: readonly string[]) {
  const { service, cron, path } = await startCronService();
  const job = version1Job(service.env.PARTNER_BASE_URL ?? '', cron.agent_id, 'daily');
  writeVersion1(path, job, ...records);
  const { code, stdout } = await run([...cron.create('daily', ...more), '--state', path], { env: service.env });
  return { code, status: JSON.parse(stdout).status, posted: await cron.posted() };
}

describe('In a state of the version before,', () => {
  it.each([
    ['a job that was created exists', [RESERVED, CREATED], 5],
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

it('An open reservation of the version before is watched for a whole lease before its job counts as not created', async () => {
  const { path, run } = stateFile();
  const [service, clock] = [await jobService(), fastClock()];
  writeVersion1(path, version1Job(service.baseUrl, 'a1', 'daily'), RESERVED);
  const ran = await run(service, ['cron', 'reconcile', '--assume-not-created', '-o', 'json'], { clock });
  expect(ran.json()).toMatchObject([{ status: 'released' }]);
  expect(clock.slept.reduce((total, ms) => total + ms, 0)).toBeGreaterThanOrEqual(60_000);
});

const UUID = '4954764b-2e2b-4297-abec-4d8fbc9a46a7';
const [NFC, NFD] = ['café', 'café'.normalize('NFD')] as const;

it.each([
  ['a name in another Unicode form', 'a1', NFD, 'a1', NFC],
  ['an agent in another spelling of its UUID', UUID.toUpperCase(), 'x', `{${UUID.replaceAll('-', '')}}`, 'x'],
])('A job that version 1 recorded under %s exists, until it is forgotten', async (_, was, called, agent, name) => {
  const { path, run } = stateFile();
  const service = await jobService();
  writeVersion1(path, version1Job(service.baseUrl, was, called), RESERVED, CREATED);
  for (const args of [createArgs(was, called, '--ensure'), createArgs(agent, name, '--ensure')])
    expect((await run(service, args)).json()).toMatchObject({ status: 'exists', cron_job_id: 'x' });
  expect((await run(service, ['cron', 'forget', '--agent', agent, '--name', name, '--yes'])).code).toBe(0);
  expect((await run(service, createArgs(agent, name))).json()).toMatchObject({ status: 'created', agent_id: agent });
});
