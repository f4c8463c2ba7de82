import { describe, expect, test } from 'vitest';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';
import { type Answer, provision, SUMMARY } from './provisioning.ts';

describe('--check', () => {
  test('needs no service and no token', async () => {
    const path = write('acme.yaml', manifest('acme-001'));
    const ran = await run(['provision', path, '--check', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const { results, summary } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, planned: 1 });
    expect(results[0]).toMatchObject({ external_space_id: 'acme-001', space_id: null, status: 'planned' });
  });
});

describe('a token that cannot list spaces or agents', () => {
  test.each([
    [['spaces.provision'], 'spaces'],
    [['spaces.provision', 'spaces.read'], 'agents'],
  ])(
    'with only %j posts with one notice, and the state file prevents another POST on a repeat',
    async (scopes, unread) => {
      const it = await service();
      await it.set({ agents_on_repeat: 'install' });
      const env = await it.envFor(scopes);
      const path = write('two.yaml', `${manifest('a')}---\n${manifest('b')}`);
      const first = await provision([path], it, { env });
      expect(first.code).toBe(0);
      expect(first.json<Answer>().summary).toEqual({ ...SUMMARY, created: 2 });
      const again = await provision([path], it, { env });
      expect(again.stderr.match(/^note: /gm) ?? []).toHaveLength(1);
      expect(again.stderr).toMatch(new RegExp(`cannot read the list of ${unread} \\(.*403`));
      const plan = await run(['plan', path], { env });
      expect(plan.stderr).not.toContain('prevents duplicates');
      expect(again.json<Answer>().summary).toEqual({ ...SUMMARY, unchanged: 2 });
      expect(await it.posts()).toHaveLength(2);
      const quiet = await provision([path, '-q'], it, { env });
      expect(quiet).toMatchObject({ code: 0, stderr: '' });
      for (const { space_id } of await it.spaces()) expect(await it.agents(space_id)).toHaveLength(1);
    },
  );

  test('posts only the new agent of a changed document', async () => {
    const it = await service();
    await it.set({ agents_on_repeat: 'install' });
    const env = await it.envFor(['spaces.provision']);
    const directory = tempDirectory();
    await provision([write('a.yaml', manifest('a', ['One']), directory)], it, { env });
    const ran = await provision([write('a.yaml', manifest('a', ['One', 'Two']), directory)], it, { env });
    const { results, summary } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, reused: 1 });
    expect(results[0]?.agents.map(({ status }) => status)).toEqual(['unchanged', 'created']);
    expect((await it.agents(results[0]?.space_id ?? '')).map(({ name }) => name)).toEqual(['One', 'Two']);
  });
});

test('A list of spaces that rejects the token (401) ends plan and provision with exit 3, and nothing is sent', async () => {
  const it = await service();
  await it.faults({ kind: 'status', status: 401, on: 'GET /automation/spaces/' });
  for (const command of ['plan', 'provision']) {
    const ran = await run([command, write('acme.yaml', manifest('acme')), '-o', 'json'], { env: it.env });
    expect(ran).toMatchObject({ code: 3, stdout: '' });
    expect(ran.error()).toMatchObject({ type: 'credentials', status: 401 });
  }
  expect(await it.posts()).toEqual([]);
});
