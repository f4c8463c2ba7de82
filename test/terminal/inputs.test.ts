import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { shell, start } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { manifest } from '../support/service.ts';

const env = { PARTNER_BASE_URL: 'http://127.0.0.1:1/v1', PARTNER_TOKEN: 'pat_0123456789' };

test.each([
  ['SIGINT', 130, ['provision']],
  ['SIGTERM', 143, ['spaces', 'list', '--token-file']],
] as const)('%s ends the reading of a pipe with a silent writer: exit %i (%j)', async (signal, exitCode, words) => {
  const pipe = join(tempDirectory(), 'pipe');
  await execa('mkfifo', [pipe]);
  const child = start([...words, pipe, '-o', 'json'], { env });
  // Opens as soon as the program reads the pipe.
  const writer = await open(pipe, 'w');
  child.kill(signal);
  const ran = await child;
  expect(ran).toMatchObject({ exitCode, stdout: '' });
  expect(JSON.parse(ran.stderr).error).toMatchObject({ type: 'interrupted' });
  await writer.close();
});

test('provision reads manifests from pipes and redirections, even from a slow writer', async () => {
  const directory = tempDirectory();
  for (const name of ['a', 'b']) await writeFile(join(directory, `${name}.yaml`), manifest(name));
  const line =
    'partnerctl provision --check -o json <(head -1 a.yaml; sleep 0.2; tail -n +2 a.yaml) /dev/stdin < b.yaml';
  const ran = await shell(line, { env, cwd: directory });
  const read = JSON.parse(ran.stdout).results.map((each: { external_space_id: string }) => each.external_space_id);
  expect(read).toEqual(['a', 'b']);
});

test('a directory may contain more manifests than a process may open files', async () => {
  const directory = tempDirectory();
  for (let index = 0; index < 80; index += 1) {
    await writeFile(join(directory, `${index}.yaml`), manifest(`space-${index}`));
  }
  const ran = await shell('ulimit -n 64; partnerctl provision . --check -o json', { env, cwd: directory });
  expect(JSON.parse(ran.stdout).results).toHaveLength(80);
});
