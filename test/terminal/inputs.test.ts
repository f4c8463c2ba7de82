import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { shell, start } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { manifest } from '../support/service.ts';

/** Creates a named pipe. */
async function namedPipe(): Promise<string> {
  const path = join(tempDirectory(), 'pipe');
  await execa('mkfifo', [path]);
  return path;
}

const env = { PARTNER_BASE_URL: 'http://127.0.0.1:1/v1', PARTNER_TOKEN: 'pat_0123456789' };

test('--timeout ends the wait for a pipe without a writer', async () => {
  const ran = await start(['provision', await namedPipe(), '--timeout', '300ms'], { env });
  expect(ran).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining('--timeout') });
});

test.each([
  ['SIGINT', 130, 'provision'],
  ['SIGTERM', 143, '--token-file'],
] as const)('%s ends the reading of a pipe with a silent writer: exit %i (%s)', async (signal, exitCode, use) => {
  const pipe = await namedPipe();
  const args = use === 'provision' ? ['provision', pipe] : ['spaces', 'list', '--token-file', pipe];
  const child = start([...args, '-o', 'json'], { env });
  // Opens as soon as the program reads the pipe.
  const writer = await open(pipe, 'w');
  child.kill(signal);
  const ran = await child;
  expect(ran).toMatchObject({ exitCode, stdout: '' });
  expect(JSON.parse(ran.stderr).error).toMatchObject({ type: 'interrupted' });
  await writer.close();
});

test('a pipe is read to its end, even from a slow writer', async () => {
  const pipe = await namedPipe();
  const child = start(['provision', pipe, '--check', '-o', 'json'], { env });
  const writer = await open(pipe, 'w');
  const text = manifest('piped');
  await writer.write(text.slice(0, 20));
  await new Promise(setImmediate);
  await writer.write(text.slice(20));
  await writer.close();
  expect(JSON.parse((await child).stdout).results).toMatchObject([{ external_space_id: 'piped' }]);
});

test.each(['<(cat "$FILE")', '/dev/stdin < "$FILE"', '/dev/stdin < <(cat "$FILE")'])(
  'provision %s reads the manifest',
  async (argument) => {
    const path = join(tempDirectory(), 'acme.yaml');
    await writeFile(path, manifest('substituted'));
    const ran = await shell(`partnerctl provision --check -o json ${argument}`, { env: { ...env, FILE: path } });
    expect(JSON.parse(ran.stdout).results).toMatchObject([{ external_space_id: 'substituted' }]);
  },
);

test('a directory may contain more manifests than a process may open files', async () => {
  const directory = tempDirectory();
  for (let index = 0; index < 200; index += 1) {
    await writeFile(join(directory, `${index}.yaml`), manifest(`space-${index}`));
  }
  const ran = await shell('ulimit -n 128; partnerctl provision "$DIRECTORY" --check -o json', {
    env: { ...env, DIRECTORY: directory },
  });
  expect(JSON.parse(ran.stdout).results).toHaveLength(200);
});
