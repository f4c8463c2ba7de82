import { once } from 'node:events';
import { readdirSync, truncateSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { holdRequests } from '../support/hold-requests.ts';
import { start, until } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { type Service, service, write } from '../support/service.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';

/** More than the system buffers on its way to a service that does not read. */
const LARGE = 16_000_000;

function largeFile(name: string, directory: string): string {
  const path = write(name, '', directory);
  truncateSync(path, LARGE);
  return path;
}

/** A service, and a directory with a state file. */
async function opened(): Promise<{ sandbox: Service; directory: string; state: string[] }> {
  const sandbox = await service();
  const directory = tempDirectory();
  return { sandbox, directory, state: ['--state', join(directory, 'state.jsonl')] };
}

describe.skipIf(!hasTmux)('In a terminal (needs tmux),', () => {
  test('an upload shows one bar for all files, on one line of 60 columns; at the end only the result is left', async () => {
    const { sandbox, directory, state } = await opened();
    const { env, release } = await holdRequests(sandbox, ({ method }) => method === 'POST');
    const names = [
      'a.bin',
      `${'long-'.repeat(20)}name.bin`,
      '日本語'.repeat(12),
      'c\u001b[2J\u001b]0;stolen\u0007.bin',
    ];
    for (const name of names) largeFile(name, directory);
    const terminal = await inTmux(['upload', '-r', directory, '--exclude', '*.jsonl', ...state], {
      ...env,
      PAGER: 'cat',
    });
    const shown = await terminal.screen(/█+░+ 0 of 4 files, [\d.]+ MB of 64 MB/);
    expect(shown.split('\n')).toHaveLength(1);
    release();
    const ended = await terminal.screen(/ended with 0/);
    expect(ended).not.toMatch(/ of 64 MB/);
    const all = await terminal.everything();
    expect(all).not.toMatch(/ of \d+ files|░/);
    expect(all.replaceAll(/\n */g, '')).toContain('1b[2J\\x1b]0;stolen\\x07.bin');
    expect(all).toContain('4 uploaded.');
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

  test('a wide terminal gets a bar, which Ctrl-C removes', async () => {
    const { sandbox, directory, state } = await opened();
    await sandbox.faults({ kind: 'stall', on: 'POST' });
    const terminal = await inTmux(['upload', largeFile('big.bin', directory), ...state], sandbox.env);
    await terminal.resize(120);
    await terminal.screen(/█*░+ 0 of 1 file, .* of 16 MB/);
    await terminal.keys('C-c');
    const ended = await terminal.screen(/ended with 130/);
    expect(ended).not.toMatch(/░/);
    expect((await sandbox.admin('GET', '/uploads')).json.uploads).toEqual([]);
  });
});

test('A pipe gets no trace of a bar, only one line per file on stdout', async () => {
  const { sandbox, directory, state } = await opened();
  // Longer than a bar takes to appear in a terminal.
  await sandbox.faults({ kind: 'delay', ms: 1_500, on: 'POST' });
  const ran = await start(['upload', largeFile('a.bin', directory), ...state], { env: sandbox.env });
  expect(ran).toMatchObject({ exitCode: 0, stderr: '' });
  expect(ran.stdout).toMatch(/^att_\w+\tuploaded\t\S+a\.bin\t16000000\t[0-9a-f]{64}\n$/);
});

test('A line is written as soon as its file is uploaded', async () => {
  const sandbox = await service();
  await sandbox.faults({ kind: 'stall', on: 'POST', skip: 1, times: 1 });
  const directory = tempDirectory();
  const files = ['a.txt', 'b.txt'].map((name) => write(name, name, directory));
  const state = ['--state', join(directory, 'state.jsonl')];
  const child = start(['upload', ...files, '--concurrency', '1', ...state], { env: sandbox.env });
  expect(await until(child.stdout, /\n/)).toMatch(/^att_\w+\tuploaded\t\S+a\.txt\t5\t/);
  child.kill('SIGINT');
  expect((await child).exitCode).toBe(130);
});

test.skipIf(process.platform === 'win32')(
  'An upload that is killed while it sends standard input leaves no copy of it',
  async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => silent.closeAllConnections());
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const address = silent.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const temporary = tempDirectory();
    const env = { PARTNER_BASE_URL: `http://127.0.0.1:${port}/v1`, PARTNER_TOKEN: 'mine', TMPDIR: temporary };
    const state = ['--state', join(tempDirectory(), 'state.jsonl')];
    const child = start(['upload', '-', '--filename', 'dump.sql', ...state], { env, input: 'select 1;' });
    await once(silent, 'request');
    child.kill('SIGKILL');
    expect((await child).signal).toBe('SIGKILL');
    expect(readdirSync(temporary)).toEqual([]);
  },
);
