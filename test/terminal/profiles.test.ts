import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';

const RACE_TOKEN = 'pat_of-the-race-0123456789';

/** The content of a file; empty if another process has removed it meanwhile. */
function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

/** The names of the files that contain the token. */
function filesWithToken(directory: string): string[] {
  return readdirSync(directory).filter((name) => readIfPresent(join(directory, name)).includes(RACE_TOKEN));
}

function storedNames(directory: string): string[] {
  return Object.keys(JSON.parse(readFileSync(join(directory, 'config.json'), 'utf8')).profiles).sort();
}

async function expectSuccess(child: ReturnType<typeof start>): Promise<void> {
  const { exitCode, stderr } = await child;
  if (exitCode !== 0) throw new Error(`exit code ${exitCode}: ${stderr}`);
}

/**
 * Logs in to several profiles concurrently, each in a separate process.
 * @returns the profiles that are missing, and other files
 */
async function raceLogins(count: number): Promise<{ lost: string[]; leftovers: string[] }> {
  const directory = tempDirectory();
  const names = Array.from({ length: count }, (_, index) => `p${index}`);
  const login = ['login', '--base-url', 'https://api.example.com/v1', '--no-verify'];
  await Promise.all(
    names.map((name) =>
      expectSuccess(
        start([...login, '--profile', name], { env: { PARTNER_CONFIG_DIR: directory, PARTNER_TOKEN: RACE_TOKEN } }),
      ),
    ),
  );
  const stored = storedNames(directory);
  return {
    lost: names.filter((name) => !stored.includes(name)),
    leftovers: readdirSync(directory).filter((name) => name !== 'config.json'),
  };
}

/** Logs out while other processes change profiles. @returns the files with the token when `logout` exits, and at the end */
async function raceLogout(others: number): Promise<string[]> {
  const directory = tempDirectory();
  const base_url = 'https://api.example.com/v1';
  const profiles = { acme: { base_url, token: RACE_TOKEN }, globex: { base_url } };
  writeFileSync(join(directory, 'config.json'), JSON.stringify({ current: 'acme', profiles }), { mode: 0o600 });
  const env = { PARTNER_CONFIG_DIR: directory };
  const uses = Promise.all(
    Array.from({ length: others }, () => expectSuccess(start(['profile', 'use', 'globex'], { env }))),
  );
  // Its failure is reported at the end, unless another one comes first.
  uses.catch(() => undefined);
  await expectSuccess(start(['logout', '--profile', 'acme'], { env }));
  const found = filesWithToken(directory);
  await uses;
  return [...found, ...filesWithToken(directory)];
}

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
