import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';

test('concurrent logins leave an intact file that only its owner can read, and no other file', async () => {
  const directory = tempDirectory();
  const env = { PARTNER_CONFIG_DIR: directory, PARTNER_TOKEN: 'pat_of-the-race-0123456789' };
  const login = ['login', '--base-url', 'https://api.example.com/v1', '--no-verify', '--profile'];
  const names = ['p0', 'p1', 'p2', 'p3'];
  for (const ran of await Promise.all(names.map((name) => start([...login, name], { env })))) {
    expect(ran.exitCode, ran.stderr).toBe(0);
  }
  const file = join(directory, 'config.json');
  const stored = Object.keys(JSON.parse(readFileSync(file, 'utf8')).profiles);
  expect(names).toEqual(expect.arrayContaining(stored));
  expect(stored.length).toBeGreaterThan(0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory)).toEqual(['config.json']);
});

test('login stores PARTNER_TOKEN even if standard input stays open and silent', async () => {
  const env = { HOME: tempDirectory(), PARTNER_TOKEN: 'a-token-of-a-test' };
  const login = ['login', '--base-url', 'http://127.0.0.1:9/v1', '--no-verify', '-o', 'json'];
  const { exitCode, stdout } = await start(login, { env, stdin: 'pipe' });
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ token: 'stored' });
});
