import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fileStore } from '../../../src/state-old/file-store.ts';
import { HeldFile } from '../../../src/state-old/held-file.ts';
import { LogWriter } from '../../../src/state-old/log-writer.ts';
import { entries, ids, lineOf, temporaryDirectory } from './files.ts';
import { builtChild, runProgram } from './program.ts';

async function startWriter() {
  const path = join(await temporaryDirectory(), 'state.jsonl');
  const writer = new LogWriter(path);
  onTestFinished(() => writer.close());
  return { path, append: (id: string) => writer.append([lineOf(id)]) };
}

/** The number of writes to a log: each starts with an empty line. */
function countWrites(path: string): number {
  return readFileSync(path, 'utf8').match(/^\n/gm)?.length ?? 0;
}

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `r${n}`);

test('records that are appended together share a write, in the order of the calls', async () => {
  const { path, append } = await startWriter();
  await Promise.all(names(100).map(append));
  expect(await ids(path)).toEqual(names(100));
  expect(countWrites(path)).toBeLessThan(5);
});

test('each append returns once its record is in the file, and not before', async () => {
  const { path, append } = await startWriter();
  const early: string[] = [];
  await Promise.all(
    names(40).map(async (id) => {
      await append(id);
      if (!readFileSync(path, 'utf8').includes(`"id":"${id}"`)) early.push(id);
    }),
  );
  expect(early).toEqual([]);
});

test('a record that waits for its turn follows the one that it was written after', async () => {
  const { path, append } = await startWriter();
  await Promise.all([append('a').then(() => append('b')), append('c').then(() => append('d'))]);
  const order = await ids(path);
  expect(order.indexOf('a')).toBeLessThan(order.indexOf('b'));
  expect(order.indexOf('c')).toBeLessThan(order.indexOf('d'));
});

test('a file that was removed between two appends is created again', async () => {
  const { path, append } = await startWriter();
  await append('a');
  rmSync(path);
  await append('b');
  expect(await ids(path)).toEqual(['b']);
});

test('a file that was replaced between two appends gets the second one', async () => {
  const { path, append } = await startWriter();
  await append('a');
  writeFileSync(`${path}.other`, `${lineOf('other')}\n`);
  renameSync(`${path}.other`, path);
  await append('b');
  expect(await ids(path)).toEqual(['other', 'b']);
});

test('a file that is replaced at any moment of an append gets the records after it', async () => {
  const { path, append } = await startWriter();
  await append('first');
  for (let round = 0; round < 50; round += 1) {
    writeFileSync(`${path}.other`, `${lineOf('other')}\n`);
    const appending = append(`r${round}`);
    // A few turns of the event loop later, for a different moment of the append in each round.
    for (let turn = 0; turn < round % 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    renameSync(`${path}.other`, path);
    await appending;
    await append(`next${round}`);
    expect(await ids(path)).toContain(`next${round}`);
  }
});

test('an open file is current only as long as the path leads to it', async () => {
  const path = join(await temporaryDirectory(), 'state.jsonl');
  const held = new HeldFile(path, () => open(path, 'a'));
  onTestFinished(() => held.close());
  const first = await held.use();
  appendFileSync(path, 'x');
  expect(await held.current()).toMatchObject({ file: first?.file, status: { size: 1 } });
  writeFileSync(`${path}.other`, '');
  renameSync(`${path}.other`, path);
  expect(await held.current()).toBeUndefined();
  expect((await held.use())?.file).not.toBe(first?.file);
  rmSync(path);
  expect(await held.current()).toBeUndefined();
});

test('a file that was truncated gets further records at its new end', async () => {
  const { path, append } = await startWriter();
  await append('a');
  truncateSync(path);
  await append('b');
  expect(await ids(path)).toEqual(['b']);
});

test('a torn last line does not swallow the group after it', async () => {
  const { path, append } = await startWriter();
  await append('a');
  appendFileSync(path, lineOf('torn').slice(0, 40));
  await Promise.all([append('b'), append('c')]);
  expect(await ids(path)).toEqual(['a', 'b', 'c']);
  expect((await entries(path)).filter(({ kind }) => kind === 'damaged')).toHaveLength(1);
});

test('every record of a group fails with the same reason, and the next one can succeed', async () => {
  const { path, append } = await startWriter();
  mkdirSync(path);
  const failed = await Promise.allSettled([append('a'), append('b'), append('c')]);
  expect(failed).toEqual(
    Array.from({ length: 3 }, () => ({
      status: 'rejected',
      reason: expect.objectContaining({ info: expect.objectContaining({ why: 'It is a directory.' }) }),
    })),
  );
  rmSync(path, { recursive: true });
  await append('d');
  expect(await ids(path)).toEqual(['d']);
});

test('a disk that fills up in the middle of a group loses no record that was acknowledged', async () => {
  const directory = await temporaryDirectory();
  const child = await builtChild(directory);
  const path = join(directory, 'state.jsonl');
  const limited = ['-c', 'ulimit -f 256; exec "$@"', 'sh', process.execPath, child, 'groups', path, 'w', '12'];
  const lines = await runProgram('sh', limited);
  const acknowledged = lines.filter((line) => !line.startsWith('{'));
  const failures = lines.filter((line) => line.startsWith('{'));
  expect(lines).toHaveLength(96);
  expect(acknowledged.length).toBeGreaterThan(8);
  expect(failures.length).toBeGreaterThan(8);
  for (const failure of failures) expect(JSON.parse(failure)).toMatchObject({ type: 'local' });
  const read = new Set(await ids(path));
  expect(acknowledged.filter((id) => !read.has(id))).toEqual([]);
});

test('a reader of the same store sees what its writer appended, and what another process put in its place', async () => {
  const path = join(await temporaryDirectory(), 'state.jsonl');
  const store = fileStore(path);
  onTestFinished(() => store.close());
  const log = store.open();
  async function read(): Promise<string[]> {
    const seen: string[] = [];
    for await (const entry of log.readNew()) seen.push(entry.kind === 'record' ? entry.record.id : entry.kind);
    return seen;
  }
  const note = (id: string) => ({ type: 'note', at: '2026-01-02T03:04:05.000Z', id });
  await log.append(note('a'), { kind: 'other' });
  expect(await read()).toEqual(['a']);
  await Promise.all([log.append(note('b'), { kind: 'other' }), log.append(note('c'), { kind: 'other' })]);
  expect(await read()).toEqual(['b', 'c']);
  writeFileSync(`${path}.other`, readFileSync(path));
  renameSync(`${path}.other`, path);
  expect(await read()).toEqual(['restart', 'a', 'b', 'c']);
  // As long as before, in the same file.
  writeFileSync(path, readFileSync(path, 'utf8').replace('"id":"c"', '"id":"x"'));
  expect(await read()).toEqual(['restart', 'a', 'b', 'damaged']);
  await store.close();
  await log.append(note('d'), { kind: 'other' });
  expect(await read()).toEqual(['d']);
});
