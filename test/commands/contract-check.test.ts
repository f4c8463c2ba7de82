import { describe, expect, test } from 'vitest';
import { json, type Script, sendJson, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

interface Check {
  readonly leaf: string;
  readonly value: string;
  readonly result: string;
  readonly detail: string;
}

async function check(env: Record<string, string>, ...flags: string[]) {
  const ran = await run(['contract', 'check', '-o', 'json', ...flags], { env });
  const checks = ran.stdout === '' ? [] : ran.json<Check[]>();
  return { ...ran, of: (leaf: string) => checks.find((each) => each.leaf === leaf) };
}

async function fake(script: Script) {
  const { baseUrl, requests } = await startFakeService(script);
  return { requests, env: { HOME: tempDirectory(), PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'secret-token-1' } };
}

const SPACES = 'GET /automation/spaces/';
const JOBS = 'GET /automation/partner-cron-jobs/';
const SESSION = ['--source', 'src_1', '--session', 's1'];

describe('contract check', () => {
  test('confirms what the service shows, and only reads', async () => {
    const { env, agents, spaces, forget, posts } = await service();
    await run(['provision', write('acme.yaml', manifest('acme'))], { env });
    const [space] = await spaces();
    const [agent] = await agents(space?.space_id ?? '');
    const setup = await run(['chat', 'setup', space?.space_id ?? '', agent?.agent_id ?? '', '-o', 'json'], { env });
    const { source_id } = setup.json<{ source_id: string }>();
    await run(['chat', 'send', '--source', source_id, '--session', 's', '--wait', 'hello'], { env });
    await forget();
    const { code, of, stderr } = await check(env, '--source', source_id, '--session', 's');
    expect(code, stderr).toBe(0);
    const confirmed =
      'spaces.list spaces.list.items space.id agent.name agent.source_id messages.history message.text message.author paths.trailing_slash';
    for (const leaf of confirmed.split(' ')) expect(of(leaf), leaf).toMatchObject({ result: 'confirmed' });
    // A single page proves nothing about paging, and an empty list nothing about items.
    for (const leaf of [
      'spaces.list.next',
      'cron_jobs.list',
      'cron_jobs.list.items',
      'cron_job.id',
      'cron_jobs.create',
    ])
      expect(of(leaf), leaf).toMatchObject({ result: 'unobservable' });
    expect(await posts()).toEqual([]);
  });

  test('shows what needs action first, and counts what no read shows in one line', async () => {
    const { env } = await fake({
      [SPACES]: json([{ pk: 'spc_1', name: 'Acme', external_space_id: 'a' }]),
      'GET *': json([]),
    });
    await run(['contract', 'set', 'space.name', 'caption'], { env });
    const { stdout, code } = await run(['contract', 'check', '--color', 'never'], { env, columns: 100 });
    expect(code).toBe(8);
    const results = [...stdout.matchAll(/^(contradicted|confirmed)/gm)].map(([result]) => result);
    expect(results.toSorted().toReversed()).toEqual(results);
    expect(stdout).toMatch(/^contradicted +space.name: in none of 1/);
    expect(stdout).not.toContain('messages.');
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
      / \d+ not shown by any read .* also check the history of a session\. $/,
    );
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

  test('says while a list is short that its end cannot be proved, and what cannot be observed for lack of items', async () => {
    const { env } = await fake({
      [SPACES]: ({ query }, response) =>
        query.size > 0
          ? sendJson(response, { detail: 'unknown parameter' }, 400)
          : sendJson(response, [{ id: 's1', name: 'A', external_id: 'a' }]),
      'GET *': json([]),
    });
    const { stdout, code } = await run(['contract', 'check', '--color', 'never'], { env, columns: 400 });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^not observable +spaces\.list\.next: .*rejects the question for more.* run: partnerctl contract set spaces\.list\.next none$/m,
    );
    expect(stdout).toMatch(/^not observable +cron_jobs\.list: it has no items$/m);
  });

  test.each([
    ['messages of another session', { sessionId: 's2', role: 'user', text: 'Hi' }, 'messages.history.session_id'],
    ['messages without ids', { id: null, sessionId: 's1', role: 'user', text: 'Hi' }, 'message.id'],
  ])('contradicts a history with %s', async (_, message, leaf) => {
    const { env } = await fake((request, response) => {
      sendJson(response, request.path.includes('/history/') ? [{ id: 'm1', ...message }] : []);
    });
    const { code, of, stderr } = await check(env, ...SESSION);
    expect(of(leaf), stderr).toMatchObject({ result: 'contradicted' });
    expect(code).toBe(8);
  });

  test('blames neither a list that the token may not read, nor the path of a history of an unknown source', async () => {
    const { env } = await fake((request, response) => {
      if (request.path.includes('/history/'))
        return sendJson(response, { code: 'source_not_found', message: 'There is no such source.' }, 404);
      return request.path.includes('cron') ? sendJson(response, { detail: 'no' }, 403) : sendJson(response, []);
    });
    const { code, of } = await check(env, ...SESSION);
    expect(code).toBe(0);
    for (const leaf of ['messages.history', 'cron_jobs.list', 'agents.list'])
      expect(of(leaf)).toMatchObject({ result: 'unobservable' });
  });
});
