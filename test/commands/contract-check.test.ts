import { describe, expect, test } from 'vitest';
import { json, type Script, startFakeService } from '../helpers/fake-service.ts';
import { run, tempDirectory } from '../helpers/run.ts';
import { manifest, service, write } from '../helpers/service.ts';

interface Check {
  readonly leaf: string;
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
      'messages.history',
      'message.text',
      'cron_jobs.list',
    ]) {
      expect(of(leaf), leaf).toMatchObject({ result: 'confirmed' });
    }
    expect(of('cron_job.id')).toMatchObject({ result: 'unobservable', detail: 'there was nothing to read' });
    expect(of('cron_jobs.create')).toMatchObject({ result: 'unobservable' });
    expect(await posts()).toEqual([]);
  });

  test('names what is contradicted with the keys and types that came, never the values, and exits with 8', async () => {
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

  test('a rejected token ends it', async () => {
    const { env } = await fake(json({ detail: 'no' }, 401));
    expect((await check(env)).code).toBe(3);
  });

  test('asks for both --source and --session', async () => {
    const { env } = await fake(json([]));
    expect((await check(env, '--source', 'src_1')).code).toBe(2);
  });
});
