import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { tempDirectory } from '../support/run.ts';
import { call } from '../support/sandbox-client.ts';

/** Starts a sandbox, asks for its token, and runs a function before it ends. */
async function tokenOf(
  dataDir: string,
  act: (token: string, admin: string, key: string) => Promise<void> = async () => {},
) {
  const sandbox = await startSandbox({ dataDir });
  const token = await sandbox.defaultToken();
  expect((await call('GET', `${sandbox.baseUrl}/automation/spaces/`, { token })).status).toBe(200);
  await act(token, sandbox.adminUrl, sandbox.adminKey);
  await sandbox.close();
  return token;
}

test('a data directory keeps the token in a file that only its owner can read, and nowhere else', async () => {
  const dataDir = join(tempDirectory(), 'data');
  const token = await tokenOf(dataDir);
  expect(await tokenOf(dataDir)).toBe(token);
  const holders = readdirSync(dataDir).filter((name) => {
    const path = join(dataDir, name);
    return statSync(path).isFile() && readFileSync(path, 'utf8').includes(token);
  });
  expect(holders).toEqual(['partner-token']);
  expect(statSync(join(dataDir, 'partner-token')).mode & 0o777).toBe(0o600);
});

test('the next start has a valid token after a deletion of the token, or a reset', async () => {
  const dataDir = join(tempDirectory(), 'data');
  const first = await tokenOf(dataDir, async (_, admin, key) => {
    const { tokens } = (await call('GET', `${admin}/tokens`, { token: key })).json;
    for (const { token_id } of tokens) await call('DELETE', `${admin}/tokens/${token_id}`, { token: key });
  });
  const second = await tokenOf(dataDir, async (_, admin, key) => {
    expect((await call('POST', `${admin}/reset`, { token: key, body: {} })).status).toBeLessThan(300);
  });
  expect(second).not.toBe(first);
  await tokenOf(dataDir);
});

test('each start without a data directory has a new token', async () => {
  const sandbox = await startSandbox();
  expect(await sandbox.defaultToken()).not.toBe(await sandbox.defaultToken());
  await sandbox.close();
});
