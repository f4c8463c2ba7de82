import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { contentHash, cronKey, instructionsHash } from '../../src/cron/job.ts';
import { agentKey, spaceContentHash, spaceKey } from '../../src/provision/space-records.ts';
import { describeThisProcess } from '../../src/state-old/owner.ts';
import { encodeRecord, type NewRecord } from '../../src/state-old/record.ts';
import { type FakeService, type Handler, json, startFakeService } from '../support/fake-service.ts';
import { fastClock, type Ran, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { write } from '../support/service.ts';

/*
 * A plan shows what the state has and the service does not: reservations, unknown outcomes, and what is blocked. It does not
 * wait, and writes nothing.
 */

const AT = '2025-12-31T12:00:00.000Z';
const SCHEDULE = { minute: '0', hour: '9', day_of_week: '*', timezone: 'UTC' };
const ELSEWHERE = { machine: 'elsewhere', pid: 1, started: '1' };
const JOB = "{ name: daily, instructions: Sum up., schedule: '0 9 * * *' }";
const MANIFEST = `external_space_id: acme
space: { name: Acme }
agents:
  - { template_id: tmpl_support, name: Support, cron: [${JOB}] }
`;

interface Shown {
  readonly spaces: readonly Readonly<Record<string, unknown>>[];
  readonly summary: Readonly<Record<string, number>>;
}

/** A service with one space and one agent, the manifest of both and a job, and a state of records. */
async function planned(
  recordsOf: (origin: string) => readonly (NewRecord | string)[],
  { routes = {}, argv = ['plan'] }: { routes?: Readonly<Record<string, Handler>>; argv?: readonly string[] } = {},
) {
  const service = await startFakeService({
    ...routes,
    'GET /automation/spaces/': json([{ space_id: 's1', external_space_id: 'acme', name: 'Acme' }]),
    'GET /automation/spaces/{id}/agents/': json([{ agent_id: 'a1', name: 'Support', template_id: 'tmpl_support' }]),
    'GET /automation/partner-cron-jobs/': json([]),
    ...routes,
  });
  const state = join(tempDirectory(), 'state.jsonl');
  const clock = fastClock();
  const lines = recordsOf(service.baseUrl).map((record) =>
    typeof record === 'string' ? record : encodeRecord(record),
  );
  if (lines.length > 0) appendFileSync(state, lines.map((line) => `\n${line}\n`).join(''));
  const before = existsSync(state) ? readFileSync(state, 'utf8') : undefined;
  const path = write('acme.yaml', MANIFEST);
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'pat_x', HOME: tempDirectory() };
  const ran = await run([...argv, path, '-o', 'json', '--detailed-exitcode', '--state', state], {
    env,
    clock,
    random: tinyRandom,
  });
  expectNoWrite(service);
  expect(existsSync(state) ? readFileSync(state, 'utf8') : undefined).toBe(before);
  expect(clock.slept).toEqual([]);
  return { ran, space: firstOf(ran) };
}

function expectNoWrite({ requests }: FakeService): void {
  expect(requests.map(({ method }) => method).filter((method) => method !== 'GET')).toEqual([]);
}

function firstOf(ran: Ran): Readonly<Record<string, unknown>> | undefined {
  return ran.stdout === '' ? undefined : ran.json<Shown>().spaces[0];
}

function jobRecord(origin: string, type: string, more: object = {}): NewRecord {
  const job = { agent_id: 'a1', name: 'daily', instructions: 'Sum up.', schedule: SCHEDULE };
  const record = {
    type: `cron.${type}`,
    at: AT,
    id: `job-${type}`,
    key: cronKey(origin, 'a1', 'daily'),
    origin,
    agent_id: 'a1',
    name: 'daily',
    schedule: SCHEDULE,
    instructions_hash: instructionsHash(job.instructions),
    content_hash: contentHash(job),
    ...more,
  };
  return record;
}

function spaceRecord(origin: string, type: string, more: object = {}): NewRecord {
  const manifest = {
    external_space_id: 'acme',
    space: { name: 'Acme' },
    agents: [{ template_id: 'tmpl_support', name: 'Support' }],
  };
  const record = {
    type: `space.${type}`,
    at: AT,
    id: `space-${type}`,
    key: spaceKey(origin, 'acme'),
    origin,
    external_space_id: 'acme',
    content_hash: spaceContentHash(manifest),
    agents: [{ key: agentKey('Support', 'tmpl_support') }],
    ...more,
  };
  return record;
}

const reservation = (owner: object) => ({ owner, until: '2025-12-31T12:01:00.000Z', seen: [] });
const listedJob = (more: object = {}) => ({
  cron_job_id: 'c1',
  agent_id: 'a1',
  name: 'daily',
  instructions: 'Sum up.',
  schedule: { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '*' }, timezone: 'UTC' },
  ...more,
});
const jobs = (...listed: readonly object[]) => ({ routes: { 'GET /automation/partner-cron-jobs/': json(listed) } });
const noSpaces = { routes: { 'GET /automation/spaces/': json([]) } };
const unlisted = { routes: { 'GET *': json({ detail: 'no' }, 403) } };

describe('a job in a plan', () => {
  test('of unknown outcome is blocked, with the command that settles it: exit 13', async () => {
    const { ran, space } = await planned((origin) => [jobRecord(origin, 'reserved', reservation(ELSEWHERE))]);
    expect(ran.code).toBe(13);
    expect(space).toMatchObject({
      action: 'none',
      actions: [],
      blocked: [
        {
          resource: 'job',
          name: 'daily',
          type: 'outcome_unknown',
          hint: expect.stringContaining('partnerctl cron reconcile'),
        },
      ],
    });
  });

  test('that another process is creating is a note, and the plan does not wait', async () => {
    const owner = describeThisProcess();
    const { ran, space } = await planned((origin) => [jobRecord(origin, 'reserved', reservation(owner))]);
    expect(ran.code).toBe(0);
    expect(space).toMatchObject({
      action: 'none',
      blocked: [],
      notes: [expect.stringContaining('Another process is creating the job "daily"')],
    });
  });

  test('that the service no longer lists is blocked: exit 13', async () => {
    const record = { reservation: null, cron_job_id: 'c1' };
    const { ran, space } = await planned((origin) => [jobRecord(origin, 'created', record)]);
    expect(ran.code).toBe(13);
    expect(space).toMatchObject({
      actions: [],
      blocked: [{ type: 'duplicate', message: expect.stringContaining('no longer lists it') }],
      unchanged: { jobs: 0 },
    });
  });

  test('that the service has twice is blocked: exit 13', async () => {
    const { ran, space } = await planned(() => [], jobs(listedJob(), listedJob({ cron_job_id: 'c2' })));
    expect(ran.code).toBe(13);
    expect(space).toMatchObject({
      blocked: [{ type: 'duplicate', message: expect.stringContaining('more than one') }],
      unmanaged: [],
    });
  });

  test('that only the service knows is unchanged: exit 0', async () => {
    const { ran, space } = await planned(() => [], jobs(listedJob()));
    expect(ran.code).toBe(0);
    expect(space).toMatchObject({ action: 'none', blocked: [], unchanged: { spaces: 1, agents: 1, jobs: 1 } });
  });

  test('that was changed at the service is a difference, even if the state has the original: exit 13', async () => {
    const record = { reservation: null, cron_job_id: 'c1' };
    const { ran, space } = await planned(
      (origin) => [jobRecord(origin, 'created', record)],
      jobs(listedJob({ name: 'nightly', instructions: 'Rest.' })),
    );
    expect(ran.code).toBe(13);
    expect(space).toMatchObject({
      blocked: [],
      unmanaged: [],
      differences: [
        { resource: 'job', name: 'daily', field: 'name', service: 'nightly', manifest: 'daily' },
        { resource: 'job', name: 'daily', field: 'instructions', service: 'Rest.', manifest: 'Sum up.' },
      ],
    });
  });

  test('is planned, next to jobs of other names and agents', async () => {
    const { ran, space } = await planned(
      () => [],
      jobs(listedJob({ name: 'other' }), listedJob({ cron_job_id: 'c2', agent_id: 'stranger' })),
    );
    expect(ran.code).toBe(12);
    expect(space).toMatchObject({
      actions: [{ op: 'create_job', name: 'daily' }],
      unmanaged: [{ resource: 'job', id: 'c1', name: 'other', agent: 'Support' }],
    });
  });

  test('of an agent whose id is unknown is blocked: exit 13', async () => {
    const { ran, space } = await planned(
      (origin) => [spaceRecord(origin, 'created', { agents: [], reservation: null, space_id: 's1' })],
      unlisted,
    );
    expect(ran.code).toBe(13);
    expect(space).toMatchObject({
      space_id: 's1',
      actions: [],
      blocked: [{ resource: 'agent', name: 'Support', message: expect.stringContaining('agent_id') }],
    });
  });
});

describe('a space in a plan', () => {
  const lost = (origin: string) => [spaceRecord(origin, 'reserved', reservation(ELSEWHERE))];

  test('that an earlier run may have provisioned is planned, with a note that provision waits', async () => {
    const { ran, space } = await planned(lost, noSpaces);
    expect(ran.code).toBe(12);
    expect(space).toMatchObject({
      action: 'create',
      space_id: null,
      notes: [expect.stringContaining(`A run that reserved the space at ${AT} may have installed what is missing`)],
    });
  });

  test('that an earlier run may have provisioned is blocked if nothing can be listed: exit 13', async () => {
    const { ran, space } = await planned(lost, unlisted);
    expect(ran.code).toBe(13);
    expect(space).toMatchObject({
      action: 'none',
      actions: [],
      blocked: [{ resource: 'space', name: 'Acme', type: 'outcome_unknown' }],
    });
  });

  test('that an earlier run may have provisioned is planned for --retry-unknown', async () => {
    const argv = ['provision', '--dry-run', '--retry-unknown'];
    const { ran, space } = await planned(lost, { ...unlisted, argv });
    expect(ran.code).toBe(12);
    expect(space).toMatchObject({ action: 'create', blocked: [] });
  });

  test('that another process is provisioning is a note, and the plan does not wait', async () => {
    const owner = describeThisProcess();
    const { space } = await planned((origin) => [spaceRecord(origin, 'reserved', reservation(owner))], noSpaces);
    expect(space).toMatchObject({
      action: 'create',
      notes: [expect.stringContaining('Another process is provisioning this space')],
    });
  });

  test('that the state has and the list lacks is created again, with a note that provision waits first', async () => {
    const agents = [{ key: agentKey('Support', 'tmpl_support'), agent_id: 'a1' }];
    const { ran, space } = await planned(
      (origin) => [spaceRecord(origin, 'created', { agents, reservation: null, space_id: 's1' })],
      noSpaces,
    );
    expect(ran.code).toBe(12);
    expect(space).toMatchObject({
      action: 'create',
      notes: [expect.stringContaining('The state knows agents that the service does not list')],
    });
  });

  test('that the state has under another id is the listed one', async () => {
    const { space } = await planned((origin) => [
      spaceRecord(origin, 'created', { reservation: null, space_id: 's0' }),
    ]);
    expect(space).toMatchObject({
      space_id: 's1',
      notes: [expect.stringContaining('The state knows the space as s0, the service lists s1.')],
    });
  });

  test('with agents that an earlier run may have installed under other names is blocked: exit 13', async () => {
    const { ran, space } = await planned(lost, {
      routes: { 'GET /automation/spaces/{id}/agents/': json([{ agent_id: 'a9', name: 'Other', template_id: 't' }]) },
    });
    expect(ran.code).toBe(13);
    expect(space).toMatchObject({
      actions: [],
      blocked: [{ resource: 'space', message: expect.stringContaining('a9 Other') }],
      unmanaged: [{ resource: 'agent', id: 'a9', name: 'Other' }],
    });
  });

  test('that a damaged line of the state may belong to is planned, with a note that provision waits', async () => {
    const damaged = (origin: string) => [
      encodeRecord(spaceRecord(origin, 'reserved', reservation(ELSEWHERE))).slice(0, -9),
    ];
    const { ran, space } = await planned(damaged, noSpaces);
    expect(ran.code).toBe(12);
    expect(space).toMatchObject({ action: 'create', notes: [expect.stringContaining('A damaged line of the state')] });
  });
});
