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

/** Writes a state in which version 1 recorded that it created a job. */
function writeVersion1Job(path: string, job: ReturnType<typeof version1Job>, cron_job_id: string): void {
  const owner = { owner: { machine: 'm', pid: 1, started: null }, until: null, seen: null };
  const records = [
    { type: 'cron.reserved', id: 'r1', ...job, ...owner },
    { type: 'cron.created', id: 'c1', ...job, reservation: 'r1', cron_job_id },
  ];
  writeFileSync(path, records.map((record) => `${encodeVersion1(record)}\n`).join(''));
}

/** Runs `cron create` with a state of the version before. */
async function createWith(records: readonly Readonly<Record<string, unknown>>[], ...more: readonly string[]) {
  const { service, cron, path } = await startCronService();
  const job = version1Job(service.env.PARTNER_BASE_URL ?? '', cron.agent_id, 'daily');
  const lines = records.map((record) => encodeVersion1({ ...job, ...record }));
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

it('An open reservation of the version before is watched for a whole lease before its job counts as not created', async () => {
  const { path, run } = stateFile();
  const [service, clock] = [await jobService(), fastClock()];
  writeFileSync(path, `${encodeVersion1({ ...version1Job(service.baseUrl, 'a1', 'daily'), ...RESERVED })}\n`);
  const ran = await run(service, ['cron', 'reconcile', '--assume-not-created', '-o', 'json'], { clock });
  expect(ran.json()).toMatchObject([{ status: 'released' }]);
  expect(clock.slept.reduce((total, ms) => total + ms, 0)).toBeGreaterThanOrEqual(60_000);
});

const UUID = '4954764b-2e2b-4297-abec-4d8fbc9a46a7';
const [NFC, NFD] = ['café', 'café'.normalize('NFD')] as const;

it.each([
  ['a name in another Unicode form', 'a1', NFD, 'a1', NFC],
  ['an agent in another spelling of its UUID', UUID.toUpperCase(), 'daily', `{${UUID.replaceAll('-', '')}}`, 'daily'],
])(
  'a job that the version before recorded under %s exists, until it is forgotten',
  async (_, was, name, agent, now) => {
    const { path, run } = stateFile();
    const service = await jobService();
    writeVersion1Job(path, version1Job(service.baseUrl, was, name), 'c1');
    for (const [of, called] of [
      [was, name],
      [agent, now],
    ] as const) {
      const ran = await run(service, createArgs(of, called, '--ensure'));
      expect(ran.json()).toMatchObject({ status: 'exists', cron_job_id: 'c1' });
    }
    expect((await run(service, ['cron', 'forget', '--agent', agent, '--name', now, '--yes'])).code).toBe(0);
    expect((await run(service, createArgs(agent, now))).json()).toMatchObject({ status: 'created', agent_id: agent });
  },
);
