import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { run, tempDirectory } from '../support/run.ts';

/** Creates a named pipe. */
async function namedPipe(): Promise<string> {
  const path = join(tempDirectory(), 'pipe');
  await execa('mkfifo', [path]);
  return path;
}

const env = { PARTNER_BASE_URL: 'http://127.0.0.1:1/v1', PARTNER_TOKEN: 'pat_0123456789' };
const JOB = ['cron', 'create', '--agent', 'agt_1', '--name', 'daily', '--schedule', '0 18 * * *'];

test.each<[string, (pipe: string) => string[]]>([
  ['provision <file>', (pipe) => ['provision', pipe]],
  ['--token-file', (pipe) => ['spaces', 'list', '--token-file', pipe]],
  ['login --token-file', (pipe) => ['login', '--token-file', pipe]],
  ['chat send --text-file', (pipe) => ['chat', 'send', '--source', 's', '--session', 't', '--text-file', pipe]],
  ['cron create --instructions', (pipe) => [...JOB, '--instructions', `@${pipe}`]],
  ['cron create -f', (pipe) => ['cron', 'create', '-f', pipe]],
  ['sandbox start --script', (pipe) => ['sandbox', 'start', '--script', pipe]],
  ['sandbox start --faults', (pipe) => ['sandbox', 'start', '--faults', pipe]],
])('%s: --timeout ends the wait for a pipe without a writer', async (_, args) => {
  const ran = await run([...args(await namedPipe()), '--timeout', '150ms'], { env });
  expect(ran).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('--timeout') });
});

test('a pipe is rejected as the profiles file', async () => {
  const directory = tempDirectory();
  await execa('mkfifo', [join(directory, 'config.json')]);
  const ran = await run(['profile', 'list'], { env: { ...env, PARTNER_CONFIG_DIR: directory } });
  expect(ran).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('not a regular file') });
});

// With `recursive`, Node's mkdir never returns on such a file system, and no signal ends it.
test.runIf(process.platform === 'linux').each([
  ['profiles', ['login', '--no-verify']],
  ['a contract', ['contract', 'set', 'agents.list', 'GET /agents/{space_id}']],
])('a directory for %s that no one can create is an immediate error', async (_, args) => {
  const ran = await run(args, { env: { ...env, PARTNER_CONFIG_DIR: '/proc/none' } });
  expect(ran).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/no such file or directory/i) });
});
