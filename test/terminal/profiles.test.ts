import { expect, test } from 'vitest';
import { raceLogins, raceLogout } from '../support/profile-races.ts';
import { start } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';

test('four concurrent logins store four profiles, and leave no other file', async () => {
  expect(await raceLogins(4)).toEqual({ lost: [], leftovers: [] });
});

test('no file contains the token once logout has returned, whatever runs concurrently', async () => {
  expect(await raceLogout(3)).toEqual([]);
});

test('login stores PARTNER_TOKEN even if standard input stays open and silent', async () => {
  const env = { HOME: tempDirectory(), PARTNER_TOKEN: 'a-token-of-a-test' };
  const login = ['login', '--base-url', 'http://127.0.0.1:9/v1', '--no-verify', '-o', 'json'];
  const { exitCode, stdout } = await start(login, { env, stdin: 'pipe' });
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ token: 'stored' });
});
