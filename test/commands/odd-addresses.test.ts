import { expect, test } from 'vitest';
import { type FakeService, json, startFakeService } from '../support/fake-service.ts';
import { fastClock, run, tempDirectory } from '../support/run.ts';

/* Services whose URLs differ by a trailing slash, and those that reject a request because of its path or a parameter. */

const at = ({ baseUrl }: FakeService) => ({
  clock: fastClock(),
  env: { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test', HOME: tempDirectory() },
});
const linesOf = ({ requests }: FakeService) => requests.map(({ method, path }) => `${method} ${path}`);
const CREATE = ['cron', 'create', '--agent', 'a1', '--name', 'Daily', '--instructions', 'Sum up.'];
const CREATE_DAILY = [...CREATE, '--schedule', '0 9 * * *', '-o', 'json'];
const JOBS = '/v1/automation/partner-cron-jobs';

test('a redirect to the URL without a slash is not followed, and the error names the setting', async () => {
  const service = await startFakeService({
    'GET /automation/partner-cron-jobs/': json({}, 301, { location: JOBS }),
    'GET /automation/partner-cron-jobs': json([]),
    'POST /automation/partner-cron-jobs': json({ id: 'c1' }, 201),
  });
  const settings = at(service);
  const refused = await run(CREATE_DAILY, settings);
  expect(linesOf(service)).toEqual([`GET ${JOBS}/`]);
  const setting = ['contract', 'set', 'paths.trailing_slash', 'never'];
  expect(refused.error().hint).toContain(`partnerctl ${setting.join(' ')}`);
  expect((await run(setting, settings)).code).toBe(0);
  expect((await run(CREATE_DAILY, settings)).json()).toMatchObject({ status: 'created', cron_job_id: 'c1' });
});

test.each([
  ['another origin', 'http://127.0.0.1:9/v1/automation/spaces'],
  ['itself', '/v1/automation/spaces/'],
])('a redirect to %s is not followed, and the hint names the setting to change', async (_, location) => {
  const service = await startFakeService(json({}, 301, { location }));
  const ran = await run(['spaces', 'list', '-o', 'json'], at(service));
  expect(ran.code).toBe(8);
  expect(ran.error().hint).toContain('partnerctl contract set spaces.list');
  expect(service.requests.length).toBe(1);
});

test.each([
  [422, { detail: [{ loc: ['body', 'agentId'], msg: 'Field required' }] }, 'cron_jobs.create.agent_id body:agentId'],
  [404, { message: 'Cannot POST /v1/automation/partner-cron-jobs/' }, "cron_jobs.create '<METHOD> <path>'"],
])('a rejection with %i names the command that settles it', async (status, body, setting) => {
  const service = await startFakeService({ 'GET *': json([]), 'POST *': json(body, status) });
  const { hint } = (await run(CREATE_DAILY, at(service))).error();
  expect(hint).toContain(`partnerctl contract set ${setting}`);
  expect(service.posts().length).toBe(1);
});

test('a Location header alone is no id of a job: the outcome is unknown, and the error shows it', async () => {
  const service = await startFakeService({
    'GET *': json([]),
    'POST *': (_request, response) => response.writeHead(201, { location: `${JOBS}/c7` }).end(),
  });
  const ran = await run(CREATE_DAILY, at(service));
  expect(ran.code).toBe(9);
  expect(ran.json()).toMatchObject({ status: 'unknown', cron_job_id: null });
  expect(ran.error().details).toMatchObject({ why: expect.stringContaining(`${JOBS}/c7`) });
  expect(service.posts().length).toBe(1);
});
