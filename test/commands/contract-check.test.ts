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
    for (const leaf of [
      'spaces.list',
      'spaces.list.items',
      'space.id',
      'agent.name',
      'agent.source_id',
      'messages.history',
      'message.text',
      'message.author',
      'message.author.agent',
      'paths.trailing_slash',
      'cron_jobs.list',
    ]) {
      expect(of(leaf), leaf).toMatchObject({ result: 'confirmed' });
    }
    // A single page proves nothing about paging, and an empty list nothing about items.
    expect(of('spaces.list.next')).toMatchObject({ result: 'unobservable' });
    expect(of('cron_jobs.list.items')).toMatchObject({ result: 'unobservable', detail: 'the list is empty' });
    expect(of('cron_job.id')).toMatchObject({ result: 'unobservable', detail: 'there was nothing to read' });
    expect(of('cron_jobs.create')).toMatchObject({ result: 'unobservable' });
    expect(await posts()).toEqual([]);
  });

  test('lists contradictions first in a terminal, and counts the rest at the end', async () => {
    const { env } = await fake({
      'GET /automation/spaces/': json({ spaces: [{ pk: 'spc_1', name: 'Acme' }] }),
      'GET /automation/spaces/spc_1/agents/': json([]),
      'GET /automation/partner-cron-jobs/': json([]),
    });
    await run(['contract', 'set', 'space.name', 'caption'], { env });
    const { stdout, stderr } = await run(['contract', 'check', '--color', 'never'], { env, columns: 100 });
    const results = [...stdout.matchAll(/\b(contradicted|confirmed|unobservable)\b/g)].map(([, result]) => result);
    expect([...new Set(results)]).toEqual(['contradicted', 'confirmed', 'unobservable']);
    const count = (wanted: string) => results.filter((result) => result === wanted).length;
    expect(stderr).toContain(`${count('confirmed')} confirmed, ${count('contradicted')} contradicted, `);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain('--source and --session also check the history of a session.');
  });

  test('reports contradictions with the keys and types received, never the values, and exits with 8', async () => {
    const { env, requests } = await fake({
      'GET /automation/spaces/': json([{ handle: 'private-1', name: 'private name' }]),
      'GET /automation/partner-cron-jobs/': json({ detail: 'gone' }, 404),
    });
    const { code, of, stdout, error } = await check(env);
    expect(code).toBe(8);
    expect(of('space.external_space_id')).toMatchObject({
      result: 'contradicted',
      detail: 'in none of 1; the first is an object with handle (string), name (string)',
    });
    expect(of('cron_jobs.list')).toMatchObject({ result: 'contradicted' });
    expect(error().hint).toContain('partnerctl contract set ');
    expect(stdout).not.toContain('private');
    expect(requests.every(({ method }) => method === 'GET')).toBe(true);
  });

  test('confirms how the next page is requested once it was followed', async () => {
    const { env } = await fake((request, response) => {
      if (!request.path.includes('/spaces/')) return sendJson(response, []);
      if (request.path.includes('/agents/')) return sendJson(response, []);
      const isSecond = request.query.get('page') === '2';
      const space = { space_id: isSecond ? 's2' : 's1', external_space_id: isSecond ? 'b' : 'a', name: 'Acme' };
      sendJson(response, { items: [space], page: isSecond ? 2 : 1, total_pages: 2 });
    });
    for (const value of ['auto', 'page:page']) {
      await run(['contract', 'set', 'spaces.list.next', value], { env });
      const { of } = await check(env);
      expect(of('spaces.list.next')).toMatchObject({ result: 'confirmed', value });
      expect(of('agents.list.next')).toMatchObject({ result: 'unobservable' });
    }
  });

  test('reads jobs as other commands do, and contradicts a schedule that those do not understand', async () => {
    const schedule = { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '*' }, timezone: 'UTC' };
    const job = { cron_job_id: 'c1', name: 'Daily', agent: { id: 'a1' }, schedule };
    const { env } = await fake({ 'GET /automation/partner-cron-jobs/': json([job]), 'GET *': json([]) });
    const read = await check(env);
    expect(read.of('cron_job.timezone')).toMatchObject({ result: 'confirmed' });
    expect(read.of('cron_job.agent_id')).toMatchObject({ result: 'confirmed' });
    const odd = await fake({
      'GET /automation/partner-cron-jobs/': json([{ ...job, schedule: { type: 'interval', every: 60 } }]),
      'GET *': json([]),
    });
    const { code, of } = await check(odd.env);
    expect(of('cron_job.schedule')).toMatchObject({ result: 'contradicted' });
    expect(code).toBe(8);
  });

  test.each([
    ['messages of another session', { sessionId: 's2', role: 'user', text: 'Hi' }, 'messages.history.session_id'],
    ['authors that nobody knows', { sessionId: 's1', role: 'x1', text: 'Hi' }, 'message.author'],
    ['messages without ids', { id: null, sessionId: 's1', role: 'user', text: 'Hi' }, 'message.id'],
  ])('contradicts a history with %s', async (_, message, leaf) => {
    const { env } = await fake((request, response) => {
      sendJson(response, request.path.includes('/history/') ? [{ id: 'm1', ...message }] : []);
    });
    const { code, of, stderr } = await check(env, '--source', 'src_1', '--session', 's1');
    expect(of(leaf), stderr).toMatchObject({ result: 'contradicted' });
    expect(code).toBe(8);
  });

  test('does not blame the path of the history for a session that does not exist', async () => {
    const { env } = await fake((request, response) => {
      if (!request.path.includes('/history/')) return sendJson(response, []);
      sendJson(response, { code: 'source_not_found', message: 'There is no such source.' }, 404);
    });
    const { of } = await check(env, '--source', 'src_1', '--session', 's1');
    expect(of('messages.history')).toMatchObject({ result: 'unobservable' });
  });

  test('does not judge a list that the token may not read', async () => {
    const { env } = await fake({
      'GET /automation/spaces/': json([]),
      'GET /automation/partner-cron-jobs/': json({ detail: 'no' }, 403),
    });
    const { code, of } = await check(env);
    expect(code).toBe(0);
    expect(of('cron_jobs.list')).toMatchObject({ result: 'unobservable' });
    expect(of('agents.list')).toMatchObject({ result: 'unobservable' });
  });

  test.each([
    ['a rejected token', 401, 3],
    ['a balance that is too low', 402, 6],
    ['a rate limit', 429, 7],
  ])('stops at %s, which says nothing of the contract', async (_, status, code) => {
    const { env } = await fake({
      'GET /automation/spaces/': json([]),
      'GET /automation/partner-cron-jobs/': json({ detail: 'no' }, status),
    });
    expect(await check(env, '--retries', '0')).toMatchObject({ code, stdout: '' });
  });

  test('requires both --source and --session', async () => {
    const { env } = await fake(json([]));
    expect((await check(env, '--source', 'src_1')).code).toBe(2);
  });
});
