import { describe, expect, test } from 'vitest';
import { json, type Script, sendJson, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';

async function check(env: Record<string, string>) {
  const ran = await run(['contract', 'check', '-o', 'json'], { env });
  const checks = ran.stdout === '' ? [] : ran.json<{ leaf: string }[]>();
  return { ...ran, of: (leaf: string) => checks.find((each) => each.leaf === leaf) };
}

async function fake(script: Script) {
  const { baseUrl, requests } = await startFakeService(script);
  return { requests, env: { HOME: tempDirectory(), PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'secret-token-1' } };
}

const SPACES = 'GET /automation/spaces/';
const JOBS = 'GET /automation/partner-cron-jobs/';

describe('contract check', () => {
  test('shows what needs action first, then what it cannot see, then what the service confirms', async () => {
    const { env } = await fake({
      [SPACES]: json([{ pk: 'spc_1', name: 'Acme', external_space_id: 'a' }]),
      'GET *': json([]),
    });
    await run(['contract', 'set', 'space.name', 'caption'], { env });
    const { stdout, code } = await run(['contract', 'check', '--color', 'never'], { env, columns: 100 });
    expect(code).toBe(8);
    const results = [...stdout.matchAll(/^(contradicted|not observable|confirmed)/gm)].map(([result]) => result);
    expect([...new Set(results)]).toEqual(['contradicted', 'not observable', 'confirmed']);
    expect(stdout).toMatch(/^contradicted +space.name: in none of 1/);
    expect(stdout).not.toContain('messages.');
  });

  test('reports contradictions with the keys and types received, never the values, and exits with 8', async () => {
    const { env, requests } = await fake({
      [SPACES]: json([{ handle: 'private-1', name: 'private name' }]),
      [JOBS]: json({ detail: 'gone' }, 404),
    });
    const { code, of, stdout, error } = await check(env);
    expect(code).toBe(8);
    const detail = 'in none of 1; the first is an object with handle (string), name (string)';
    expect(of('space.external_space_id')).toMatchObject({ result: 'contradicted', detail });
    expect(of('space.id')).toMatchObject({ result: 'contradicted' });
    expect(of('cron_jobs.list')).toMatchObject({ result: 'contradicted' });
    expect(error().hint).toContain('partnerctl contract set ');
    expect(stdout).not.toContain('private');
    expect(requests.every(({ method }) => method === 'GET')).toBe(true);
  });

  test('reads the agents of a space that has some, and confirms paging by the last page only', async () => {
    const jobs = Array.from({ length: 600 }, (_, index) => ({ id: `j${index}`, agent_id: 'a1', name: `Job ${index}` }));
    const { env, requests } = await fake({
      [SPACES]: ({ query }, response) =>
        query.has('cursor')
          ? sendJson(response, { items: [{ id: 's3', name: 'C', external_id: 'c' }], next_cursor: null })
          : sendJson(response, {
              items: ['s1', 's2'].map((id) => ({ id, name: id, external_id: id })),
              next_cursor: 'n',
            }),
      'GET /automation/spaces/s2/agents/': json([{ id: 'a1', name: 'Agent' }]),
      [JOBS]: ({ query }, response) => {
        const from = Number(query.get('cursor') ?? 0);
        const next_cursor = from + 100 < jobs.length ? `${from + 100}` : null;
        return sendJson(response, { items: jobs.slice(from, from + 100), next_cursor });
      },
      'GET *': json([]),
    });
    const { code, of, stderr } = await check(env);
    expect(code, stderr).toBe(0);
    for (const leaf of ['agents.list', 'agent.id', 'spaces.list.next', 'cron_jobs.list', 'cron_job.id'])
      expect(of(leaf), leaf).toMatchObject({ result: 'confirmed' });
    const detail = 'read 500 items in 5 pages, and not the last one';
    expect(of('cron_jobs.list.next')).toMatchObject({ result: 'unobservable', detail });
    const read = requests.flatMap(({ path }) => /spaces\/(\w+)\/agents/.exec(path)?.[1] ?? []);
    expect([...new Set(read)]).toEqual(['s1', 's2']);
  });

  test('does not blame a list that the token may not read', async () => {
    const { env } = await fake({ [JOBS]: json({ detail: 'no' }, 403), 'GET *': json([]) });
    const { code, of } = await check(env);
    expect(code).toBe(0);
    for (const leaf of ['cron_jobs.list', 'spaces.list']) expect(of(leaf)).toMatchObject({ result: 'unobservable' });
  });
});
