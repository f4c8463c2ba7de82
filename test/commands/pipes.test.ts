import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { run, tempDirectory } from '../support/run.ts';

const env = { PARTNER_BASE_URL: 'http://127.0.0.1:1/v1', PARTNER_TOKEN: 'pat_0123456789' };
const JOB = ['cron', 'create', '--agent', 'agt_1', '--name', 'daily', '--schedule', '0 18 * * *'];

test.each<[string, (pipe: string) => string[]]>([
  ['provision <file>', (pipe) => ['provision', pipe]],
  ['--token-file', (pipe) => ['spaces', 'list', '--token-file', pipe]],
  ['cron create --instructions', (pipe) => [...JOB, '--instructions', `@${pipe}`]],
  ['sandbox start --script', (pipe) => ['sandbox', 'start', '--script', pipe]],
])('%s: --timeout ends the wait for a pipe without a writer', async (_, args) => {
  const pipe = join(tempDirectory(), 'pipe');
  await execa('mkfifo', [pipe]);
  const ran = await run([...args(pipe), '--timeout', '150ms'], { env });
  expect(ran).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('--timeout') });
});

// With `recursive`, Node's mkdir never returns on such a file system, and no signal ends it.
test.runIf(process.platform === 'linux')('A directory that no one can create is an immediate error.', async () => {
  const ran = await run(['login', '--no-verify'], { env: { ...env, PARTNER_CONFIG_DIR: '/proc/none' } });
  expect(ran).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/no such file or directory/i) });
});
