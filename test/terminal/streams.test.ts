import { expect, test } from 'vitest';
import { PROGRAM, shell, start } from '../support/program.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, service } from '../support/service.ts';

test('A closed pipe ends the program quietly with 0', async () => {
  const sandbox = await service();
  // More than fits into a pipe.
  await sandbox.admin('POST', '/spaces', { count: 1500, prefix: 'acme' });
  await sandbox.set({ page_size: 1000 });
  // One that writes rows, one that writes a document, and one that needs all rows.
  for (const format of ['tsv', 'json', 'table']) {
    const ran = await shell(`partnerctl spaces list -o ${format} | head -1`, { env: sandbox.env });
    expect(ran).toMatchObject({ exitCode: 0, stderr: '' });
    expect(ran.stdout.split('\n')).toHaveLength(2);
  }
  const help = await shell('partnerctl --help | true; partnerctl provision --schema | true', { env: sandbox.env });
  expect(help).toMatchObject({ exitCode: 0, stderr: '' });
});

test('A slow reader gets everything before the program exits', async () => {
  const sandbox = await service();
  await sandbox.admin('POST', '/spaces', { count: 1500, prefix: 'acme' });
  const ran = await shell('partnerctl spaces list -o json | (sleep 0.2; cat)', { env: sandbox.env });
  expect(JSON.parse(ran.stdout)).toHaveLength(1500);
});

test('--timeout and Ctrl-C end a command whose output nobody reads anymore', async () => {
  const sandbox = await service();
  await sandbox.admin('POST', '/spaces', { count: 1_500, prefix: 'acme' });
  await sandbox.set({ page_size: 1000 });
  // Reads one byte, so that the command is writing, and then nothing more.
  const list = async (args: string, end: string) => {
    const line = `mkfifo pipe; node '${PROGRAM}' spaces list -o ndjson ${args} >pipe & exec 3<pipe; head -c 1 <&3; ${end} wait $!`;
    return await shell(line, { env: sandbox.env, cwd: tempDirectory() });
  };
  const [late, unheard, interrupted] = await Promise.all([
    list('--timeout 2s', ''),
    list('--timeout 2s -v 2>&1', ''),
    list('', 'kill -INT $!;'),
  ]);
  expect(late).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--timeout') });
  expect(unheard).toMatchObject({ exitCode: 1, stderr: '' });
  expect(interrupted).toMatchObject({ exitCode: 130, stderr: expect.stringContaining('Interrupted') });
});

test.each([
  ['closed stdout', 'partnerctl spaces list -o json >&-', 0],
  ['closed stderr', 'partnerctl spaces list -o json -v 2>&-', 0],
  ['closed stderr and a failure', 'partnerctl agents list nowhere 2>&-', 4],
  ['all closed', 'partnerctl agents list nowhere <&- >&- 2>&-', 4],
  ['closed stdin', 'partnerctl spaces list -o json <&-', 0],
])('%s: the exit code does not change', async (_, line, code) => {
  const sandbox = await service();
  expect((await shell(line, { env: sandbox.env })).exitCode).toBe(code);
});

test('A full disk is a failure', async () => {
  const sandbox = await service();
  await sandbox.admin('POST', '/spaces', { count: 10 });
  const ran = await shell('partnerctl spaces list -o json > /dev/full', { env: sandbox.env });
  expect(ran.exitCode).toBe(1);
  expect(ran.stderr).toContain('"type":"local"');
  expect(ran.stderr).toContain('ENOSPC');
  const schema = await shell('partnerctl provision --schema > /dev/full');
  expect(schema).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('ENOSPC') });
  expect(schema.stderr).not.toContain('bug');
  for (const flag of ['--help', '--version']) {
    expect(await shell(`partnerctl ${flag} > /dev/full`)).toMatchObject({
      exitCode: 1,
      stderr: 'error: The output cannot be written.\n  the disk is full (ENOSPC)\n',
    });
  }
});

test('provision reads a pipe, and its state file is in the home directory', async () => {
  const sandbox = await service();
  const text = [manifest('a'), manifest('b', ['One', 'Two'])].join('---\n');
  const first = await start(['provision', '-', '-o', 'json'], { env: sandbox.env, input: text });
  expect(first).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(first.stdout).summary).toMatchObject({ created: 2 });
  await sandbox.forget();
  const again = await run(['provision', '-', '-o', 'json'], { env: sandbox.env, stdin: text });
  expect(JSON.parse(again.stdout).summary).toMatchObject({ unchanged: 2 });
  expect(await sandbox.posts()).toEqual([]);
});
