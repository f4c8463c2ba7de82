import { describe, expect, test } from 'vitest';
import { type FakeService, json, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';

/* Services that name and nest fields as other frameworks do. */

type Respell = (object: Record<string, unknown>, type: string) => object;

const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const pascal = (name: string): string => camel(`_${name}`);
const renamed =
  (rename: (name: string) => string): Respell =>
  (object) =>
    Object.fromEntries(Object.entries(object).map(([key, value]) => [rename(key), value]));
const jsonApi: Respell = (object, type) => {
  const { [`${type}_id`]: id, ...attributes } = object;
  return { type: `${type}s`, id, attributes: renamed(camel)(attributes, type), links: { self: `/${id}` } };
};

const SPELLINGS: readonly [string, Respell][] = [
  ['camel case', renamed(camel)],
  ['Pascal case', renamed(pascal)],
  ['kebab case', renamed((name) => name.replaceAll('_', '-'))],
  ['plain ids', (object, type) => ({ ...object, [`${type}_id`]: undefined, pk: object[`${type}_id`] })],
  ['JSON:API', jsonApi],
  ['nodes of a graph', (object, type) => ({ cursor: 'c', node: jsonApi(object, type) })],
  ['its own name', (object, type) => ({ [type]: object, _links: {} })],
];

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
const CREATE_DAILY = [...CREATE, '--schedule', '0 9 * * *', '-o', 'json'];

function lists(respell: Respell) {
  return startFakeService({
    'GET /automation/spaces/': json([respell(SPACE, 'space')]),
    'GET /automation/spaces/s1/agents/': json([respell(AGENT, 'agent')]),
    'GET /automation/partner-cron-jobs/': json([respell(JOB, 'cron_job')]),
    'POST *': json({ id: 'new' }, 201),
  });
}

const at = ({ baseUrl }: FakeService) => ({
  env: { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test', HOME: tempDirectory() },
});
const posts = ({ requests }: FakeService) => requests.filter(({ method }) => method === 'POST');

describe.each(SPELLINGS)('a service that responds in %s', (_, respell) => {
  test('is listed without blank fields, and nothing that exists is created again', async () => {
    const service = await lists(respell);
    const settings = at(service);
    const spaces = await run(['spaces', 'list', '-o', 'tsv'], settings);
    expect(spaces).toMatchObject({ code: 0, stdout: 's1\tacme\tAcme\tA customer\tno\n' });
    const agents = await run(['agents', 'list', 'ext:acme', '-o', 'tsv'], settings);
    expect(agents).toMatchObject({ code: 0, stdout: 'a1\tSupport\ttmpl_support\n' });
    const jobs = await run(['cron', 'list', '-o', 'tsv'], settings);
    expect(jobs.stdout).toMatch(/^c1\ta1\tDaily\tAt 09:00 /);
    const raw = await run(['spaces', 'list', '-o', 'json'], settings);
    const sent = { node: undefined, ...respell(SPACE, 'space') };
    expect(raw.json()).toEqual([JSON.parse(JSON.stringify(sent.node ?? sent))]);

    expect((await run(CREATE_DAILY, settings)).json()).toMatchObject({ status: 'adopted', cron_job_id: 'c1' });
    const provisioned = await run(['provision', write('a.yaml', manifest('acme')), '-o', 'json'], settings);
    expect(provisioned.json()).toMatchObject({ results: [{ status: 'unchanged', agents: [{ agent_id: 'a1' }] }] });
    expect(posts(service)).toEqual([]);
  });
});

test.each<[string, string[], Respell, string]>([
  ['an id', ['spaces', 'list'], ({ space_id, ...rest }) => ({ ...rest, spaceKey: space_id }), 'space.id spaceKey'],
  [
    'an id that is null',
    ['spaces', 'list', '-o', 'json'],
    (space) => ({ ...space, space_id: null }),
    "space.id '<path>'",
  ],
  [
    'an external id',
    ['agents', 'list', 'ext:acme'],
    ({ external_space_id, ...rest }, type) => (type === 'space' ? { ...rest, customerRef: external_space_id } : rest),
    'space.external_space_id customerRef',
  ],
  ['an agent', CREATE_DAILY, ({ agent_id, ...rest }) => ({ ...rest, botRef: agent_id }), 'cron_job.agent_id botRef'],
  ['the name of a job', CREATE_DAILY, ({ name, ...rest }) => ({ ...rest, jobTag: name }), "cron_job.name '<path>'"],
  [
    'a name that is an object',
    ['spaces', 'list'],
    (space) => ({ ...space, name: { en: 'Acme' } }),
    'space.name name.en',
  ],
  ['two ids', ['spaces', 'list'], (space) => ({ ...space, SpaceId: 's2' }), 'space.id space_id'],
])('%s that cannot be read fails with the command that settles it', async (_, args, respell, fix) => {
  const service = await lists(respell);
  const settings = at(service);
  const refused = await run([...args, '-o', 'json'].slice(0, args.includes('-o') ? args.length : undefined), settings);
  expect(refused.code).toBe(8);
  const { hint, details } = refused.error();
  expect(hint).toContain(`partnerctl contract set ${fix}`);
  expect(details).toMatchObject({ leaf: fix.split(' ')[0] });
  expect(posts(service)).toEqual([]);
  if (fix.includes('<')) return;
  const [leaf = '', value = ''] = fix.split(' ');
  expect((await run(['contract', 'set', leaf, value], settings)).code).toBe(0);
  expect((await run(args, settings)).code).toBe(0);
});
