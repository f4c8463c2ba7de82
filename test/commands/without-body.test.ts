import { expect, test } from 'vitest';
import { json, type Script, startFakeService } from '../support/fake-service.ts';
import { fastClock, fasterClock, type RunOptions, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';

/* Services whose responses to writes have no body, or a body without an id. These are successes whose id is found by a read. */

const SPACE = { space_id: 's1', external_space_id: 'acme' };
const AGENT = { agent_id: 'a1', name: 'Support', template_id: 'tmpl_support' };
const CREATE = ['cron', 'create', '--agent', 'a1', '--name', 'Daily', '--instructions', 'Sum up.'];
const CREATE_DAILY = [...CREATE, '--schedule', '0 9 * * *', '-o', 'json'];
const SCHEDULE = { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '*' }, timezone: 'UTC' };
const DAILY = { cron_job_id: 'c1', agent_id: 'a1', name: 'Daily', instructions: 'Sum up.', schedule: SCHEDULE };

async function open(script: Script) {
  const service = await startFakeService(script);
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'a-token-of-a-test', HOME: tempDirectory() };
  return {
    run: (argv: readonly string[], options: RunOptions = {}) =>
      run(argv, { random: tinyRandom, clock: fasterClock(20), env, ...options }),
    posts: () => service.posts().length,
  };
}

const empty = (status: number) => json(undefined, status);
const listing = (...pages: unknown[][]) => pages.map((page) => json(page));

test('a job whose creation gets no body, or one that has no id, has the id from the list', async () => {
  for (const response of [empty(201), empty(204), json({ status: 'accepted', queued_at: 'now' }, 202)]) {
    const it = await open({ 'GET /automation/partner-cron-jobs/': listing([], [DAILY]), 'POST *': response });
    const created = await it.run(CREATE_DAILY);
    expect(created).toMatchObject({ code: 0 });
    expect(created.json()).toMatchObject({ status: 'created', cron_job_id: 'c1' });
    expect((await it.run(CREATE_DAILY)).code).toBe(5);
    expect(it.posts()).toBe(1);
  }
});

test('the id in a 202 is none of a created job: the outcome is unknown, and the error names it and the command for it', async () => {
  const it = await open({
    'GET /automation/partner-cron-jobs/': json([]),
    'POST *': json({ cron_job_id: 'c1', status: 'queued' }, 202),
  });
  const created = await it.run(CREATE_DAILY, { clock: fastClock() });
  expect(created.code).toBe(9);
  expect(created.json()).toMatchObject({ status: 'unknown', cron_job_id: null });
  expect(created.error().details).toMatchObject({ why: expect.stringContaining('cron_job_id "c1"') });
  expect(created.error().hint).toContain('partnerctl cron adopt c1 --agent a1 --name Daily');
  expect(it.posts()).toBe(1);
});

test('a message that the service accepts with 202 is registered', async () => {
  const it = await open({ 'POST *': json({ message_id: 'm1', created: true }, 202) });
  const sent = await it.run(['chat', 'send', '--source', 's', '--session', 'x', 'Hello', '-o', 'json']);
  expect(sent.json()).toMatchObject({ message_id: 'm1' });
});

test('a space that is provisioned without a body has the ids from the lists', async () => {
  const it = await open({
    'GET /automation/spaces/': listing([], [SPACE]),
    'GET /automation/spaces/{id}/agents/': json([AGENT]),
    'POST *': empty(202),
  });
  const ran = await it.run(['provision', write('a.yaml', manifest('acme')), '-o', 'json']);
  expect(ran.code).toBe(0);
  expect(ran.json()).toMatchObject({
    results: [{ space_id: 's1', status: 'created', agents: [{ agent_id: 'a1', status: 'created' }] }],
  });
  expect(it.posts()).toBe(1);
});

test('an agent whose id the response lacks gets it from the list, also if the rate limit was reached before', async () => {
  const limited = json({ detail: 'Slow down.' }, 429, { 'retry-after': '1' });
  const it = await open({
    'GET /automation/spaces/': listing([], [SPACE]),
    'GET /automation/spaces/{id}/agents/': [limited, limited, json([AGENT])],
    'POST *': json({ space: SPACE, created: true }, 201),
  });
  const ran = await it.run(['provision', write('a.yaml', manifest('acme')), '--retries', '1', '-o', 'json']);
  expect(ran.code).toBe(0);
  expect(ran.json()).toMatchObject({ results: [{ agents: [{ agent_id: 'a1', status: 'created' }] }] });
  expect(it.posts()).toBe(1);
});
