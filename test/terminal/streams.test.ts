import { expect, test } from 'vitest';
import { PROGRAM, shell } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { service } from '../support/service.ts';

/** A service whose list of spaces does not fit into a pipe. */
async function longList() {
  const sandbox = await service();
  await sandbox.admin('POST', '/spaces', { count: 1_500, prefix: 'acme' });
  await sandbox.set({ page_size: 1_000 });
  return sandbox;
}

test('A closed pipe ends the program quietly with 0, and a slow reader gets everything', async () => {
  const { env } = await longList();
  // One that writes rows, and one that writes a document.
  for (const format of ['tsv', 'json']) {
    const ran = await shell(`partnerctl spaces list -o ${format} | head -1`, { env });
    expect(ran).toMatchObject({ exitCode: 0, stderr: '' });
    expect(ran.stdout.split('\n')).toHaveLength(2);
  }
  expect(await shell('partnerctl --help | true', { env })).toMatchObject({ exitCode: 0, stderr: '' });
  const slow = await shell('partnerctl spaces list -o json | (sleep 0.2; cat)', { env });
  expect(JSON.parse(slow.stdout)).toHaveLength(1_500);
});

test('--timeout and Ctrl-C end a command whose output nobody reads anymore', async () => {
  const { env } = await longList();
  // Reads one byte, so that the command is writing, and then nothing more.
  const list = async (args: string, end: string) => {
    const line = `mkfifo pipe; node '${PROGRAM}' spaces list -o ndjson ${args} >pipe & exec 3<pipe; head -c 1 <&3; ${end} wait $!`;
    return await shell(line, { env, cwd: tempDirectory() });
  };
  const [late, interrupted] = await Promise.all([list('--timeout 2s', ''), list('', 'kill -INT $!;')]);
  expect(late).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--timeout') });
  expect(interrupted).toMatchObject({ exitCode: 130, stderr: expect.stringContaining('Interrupted') });
});

test('Closed streams do not change the exit code', async () => {
  const { env } = await service();
  expect((await shell('partnerctl spaces list -o json -v >&- 2>&-', { env })).exitCode).toBe(0);
  expect((await shell('partnerctl agents list nowhere <&- >&- 2>&-', { env })).exitCode).toBe(4);
});

test('A full disk is a failure', async () => {
  const { env } = await service();
  expect(await shell('partnerctl spaces list -o json > /dev/full', { env })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/"type":"local".*ENOSPC/),
  });
  expect(await shell('partnerctl --help > /dev/full')).toMatchObject({
    exitCode: 1,
    stderr: 'error: The output cannot be written.\n  the disk is full (ENOSPC)\n',
  });
});
