import { expect, test } from 'vitest';
import { createProfileHome } from '../support/profile-home.ts';
import { run } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

/* `command-lines.test.ts` tries every write. */

/** A service, and a protected profile `live` for it, which is current. */
async function setUp() {
  const it = await service();
  const home = createProfileHome();
  home.store('live', it.sandbox.baseUrl, it.token, { protected: true });
  return { ...it, home, env: home.env };
}

test('Reads and dry runs need no confirmation.', async () => {
  const { env, posts } = await setUp();
  const file = write('new.yaml', manifest('acme-002'));
  for (const args of [
    ['spaces', 'list'],
    ['plan', file],
    ['provision', '--schema'],
    ['upload', file, '--dry-run'],
    ['cron', 'create', '--agent', 'agt_1', '--name', 'a', '--instructions', 'b', '--schedule', '@daily', '--dry-run'],
    ['api', 'GET', '/automation/spaces/'],
  ])
    expect(await run(args, { env }), args.join(' ')).toMatchObject({ code: 0 });
  expect(await posts()).toEqual([]);
});

test('A confirmed login and logout keep the protection, and unprotect ends it.', async () => {
  const { sandbox, token, home, env } = await setUp();
  const login = ['login', '--profile', 'live', '--base-url', sandbox.baseUrl];
  const unconfirmed = await run(login, { env, stdin: 'another' });
  const stderr = expect.stringMatching(
    /"live" is protected, and .* to replace its token\.\n.*\nhint: .* --confirm live\n$/,
  );
  expect(unconfirmed).toMatchObject({ code: 2, stdout: '', stderr });
  expect(home.read().live).toMatchObject({ token });
  expect((await run([...login, '--confirm', 'live'], { env, stdin: token })).code).toBe(0);
  await run(['logout', '--profile', 'live'], { env });
  expect(home.read().live).toEqual({ base_url: sandbox.baseUrl, protected: true });
  expect((await run(['profile', 'unprotect', 'live'], { env })).code).toBe(0);
  expect(home.read().live).toEqual({ base_url: sandbox.baseUrl });
});
