import { expect, test } from 'vitest';
import { json, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';

/* Services that name and nest fields as other frameworks do. */

type Respell = (object: Record<string, unknown>, type: string) => object;

const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const renamed =
  (rename: (name: string) => string): Respell =>
  (object) =>
    Object.fromEntries(Object.entries(object).map(([key, value]) => [rename(key), value]));
const jsonApi: Respell = (object, type) => {
  const { [`${type}_id`]: id, ...attributes } = object;
  return { type: `${type}s`, id, attributes: renamed(camel)(attributes, type), links: { self: `/${id}` } };
};

const SPACE = {
  space_id: 's1',
  external_space_id: 'acme',
  name: 'Acme',
  description: 'A customer',
  is_org_wide: false,
};
const AGENT = { agent_id: 'a1', name: 'Support', template_id: 'tmpl_support', source_id: 'src_1' };
const JOB = {
  cron_job_id: 'c1',
  agent_id: 'a1',
  name: 'Daily',
  instructions: 'Sum up.',
  schedule: { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '*' }, timezone: 'UTC' },
};
const CREATE = ['cron', 'create', '--agent', 'a1', '--name', 'Daily', '--instructions', 'Sum up.'];
const CREATE_DAILY = [...CREATE, '--schedule', '0 9 * * *'];

async function serve(respell: Respell) {
  const { baseUrl, posts } = await startFakeService({
    'GET /automation/spaces/': json([respell(SPACE, 'space')]),
    'GET /automation/spaces/s1/agents/': json([respell(AGENT, 'agent')]),
    'GET /automation/partner-cron-jobs/': json([respell(JOB, 'cron_job')]),
    'POST *': json({ id: 'new' }, 201),
  });
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test', HOME: tempDirectory() };
  return { posts, on: (argv: readonly string[]) => run(argv, { env }) };
}

test.each<[string, Respell]>([
  ['kebab case', renamed((name) => name.replaceAll('_', '-'))],
  ['plain ids', (object, type) => ({ ...object, [`${type}_id`]: undefined, pk: object[`${type}_id`] })],
  ['JSON:API', jsonApi],
  ['nodes of a graph', (object, type) => ({ cursor: 'c', node: jsonApi(object, type) })],
  ['its own name', (object, type) => ({ [type]: object, _links: {} })],
])('a service that responds in %s is listed without blank fields, and nothing is created again', async (_, respell) => {
  const { posts, on } = await serve(respell);
  expect((await on(['spaces', 'list'])).stdout).toBe('s1\tacme\tAcme\tA customer\tno\n');
  expect((await on(['agents', 'list', 'ext:acme'])).stdout).toBe('a1\tSupport\ttmpl_support\n');
  expect((await on(['cron', 'list'])).stdout).toMatch(/^c1\ta1\tDaily\tAt 09:00 /);
  const sent = { node: undefined, ...respell(SPACE, 'space') };
  const raw = await on(['spaces', 'list', '-o', 'json']);
  expect(raw.json()).toEqual([JSON.parse(JSON.stringify(sent.node ?? sent))]);
  expect((await on([...CREATE_DAILY, '-o', 'json'])).json()).toMatchObject({ status: 'adopted', cron_job_id: 'c1' });
  const provisioned = await on(['provision', write('a.yaml', manifest('acme')), '-o', 'json']);
  expect(provisioned.json()).toMatchObject({ results: [{ status: 'unchanged', agents: [{ agent_id: 'a1' }] }] });
  expect(posts()).toEqual([]);
});
