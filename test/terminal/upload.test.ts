import { readdirSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { holdRequests, startFakeService } from '../support/fake-service.ts';
import { start, until } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { service, write } from '../support/service.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';

describe.skipIf(!hasTmux)('In a terminal (needs tmux),', () => {
  test('an upload shows one count for all files, on one line of 60 columns; at the end only the result is left', async () => {
    const sandbox = await service();
    const { env, release } = await holdRequests(sandbox, ({ method }) => method === 'POST');
    const directory = tempDirectory();
    const names = [`${'long-'.repeat(20)}name.bin`, '日本語'.repeat(12), 'c\u001b[2J\u001b]0;stolen\u0007.bin'];
    // The first has more than the system buffers on its way to a service that does not read.
    for (const [index, name] of names.entries())
      truncateSync(write(name, '', directory), index === 0 ? 16_000_000 : 1_000_000);
    const args = ['upload', '-r', directory, '--state', join(tempDirectory(), 'state.jsonl')];
    const terminal = await inTmux(args, env);
    const shown = await terminal.screen(/Uploading: [\d.]+ MB of 18 MB/);
    expect(shown.split('\n')).toHaveLength(1);
    release();
    expect(await terminal.screen(/ended with 0/)).not.toMatch(/ of 18 MB/);
    const all = await terminal.everything();
    expect(all).not.toContain('Uploading');
    expect(all.replaceAll(/\n */g, '')).toContain('1b[2J\\x1b]0;stolen\\x07.bin');
    expect(all).toContain('3 uploaded.');
    expect(await terminal.title()).not.toContain('stolen');
  });

  test('an upload asks for standard input that is typed', async () => {
    const sandbox = await service();
    const state = join(tempDirectory(), 'state.jsonl');
    const terminal = await inTmux(['upload', '-', '--filename', 'typed.txt', '--state', state], sandbox.env);
    await terminal.screen(/Reading standard input\. Press Ctrl-D to finish\./);
    await terminal.keys('hello', 'Enter', 'C-d');
    await terminal.screen(/ended with 0/);
    expect((await sandbox.admin('GET', '/uploads')).json.uploads).toMatchObject([{ filename: 'typed.txt', bytes: 6 }]);
  });
});

test('A pipe gets no trace of a bar, only one line per file on stdout, as soon as the file is uploaded', async () => {
  const sandbox = await service();
  // Longer than a bar takes to appear in a terminal.
  await sandbox.faults({ kind: 'delay', ms: 1_500, on: 'POST', times: 1 }, { kind: 'stall', on: 'POST', times: 1 });
  const directory = tempDirectory();
  const files = ['a.txt', 'b.txt'].map((name) => write(name, name, directory));
  const state = ['--state', join(directory, 'state.jsonl')];
  const child = start(['upload', ...files, '--concurrency', '1', ...state], { env: sandbox.env });
  expect(await until(child.stdout, /\n/)).toMatch(/^att_\w+\tuploaded\t\S+a\.txt\t5\t[0-9a-f]{64}\n$/);
  child.kill('SIGINT');
  expect(await child).toMatchObject({ exitCode: 130, stderr: expect.not.stringContaining('Uploading') });
});

test.skipIf(process.platform === 'win32')(
  'An upload that is killed while it sends standard input leaves no copy of it',
  async () => {
    const silent = await startFakeService(() => undefined);
    const temporary = tempDirectory();
    const env = { PARTNER_BASE_URL: silent.baseUrl, PARTNER_TOKEN: 'mine', TMPDIR: temporary };
    const state = ['--state', join(tempDirectory(), 'state.jsonl')];
    const child = start(['upload', '-', '--filename', 'dump.sql', ...state], { env, input: 'select 1;' });
    await silent.nextRequest();
    child.kill('SIGKILL');
    expect((await child).signal).toBe('SIGKILL');
    expect(readdirSync(temporary)).toEqual([]);
  },
);
