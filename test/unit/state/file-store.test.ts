import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileStore, readLog, type StoreEntry } from '../../../src/state/log.ts';
import { encodeRecord } from '../../../src/state/record.ts';
import { tempDirectory } from '../../helpers/run.ts';

const line = (id: string): string => `${encodeRecord({ type: 't', at: '2026-01-01T00:00:00.000Z', id })}\n`;

async function read(readNew: () => AsyncIterable<StoreEntry>): Promise<string[]> {
  const entries: string[] = [];
  for await (const entry of readNew()) {
    if (entry.kind === 'restart') entries.push('restart');
    else entries.push(`${entry.line} ${entry.kind === 'record' ? entry.record.id : entry.kind}`);
  }
  return entries;
}

test('reads on where it stopped, with the numbers of the lines', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const { readNew } = fileStore(path);
  expect(await read(readNew)).toEqual([]);
  writeFileSync(path, `\n${line('a')}\n${line('b')}`);
  expect(await read(readNew)).toEqual(['2 a', '4 b']);
  expect(await read(readNew)).toEqual([]);
  appendFileSync(path, `\n${line('c')}${line('a')}`);
  expect(await read(readNew)).toEqual(['6 c', '7 duplicate']);
});

test('judges a line that comes later once it has its end: it may be in the middle of being written', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const { readNew } = fileStore(path);
  const whole = line('b');
  writeFileSync(path, line('a'));
  expect(await read(readNew)).toEqual(['1 a']);
  appendFileSync(path, whole.slice(0, 40));
  expect(await read(readNew)).toEqual([]);
  appendFileSync(path, whole.slice(40));
  expect(await read(readNew)).toEqual(['2 b']);
  appendFileSync(path, `{"torn${line('c')}\n${line('d')}`);
  expect(await read(readNew)).toEqual(['3 damaged', '5 d']);
  expect(await read(readNew)).toEqual([]);
});

test('tells of a torn last line that was there from the beginning', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const { readNew } = fileStore(path);
  writeFileSync(path, line('a') + line('b').slice(0, 40));
  expect(await read(readNew)).toEqual(['1 a', '2 damaged']);
  expect(await read(readNew)).toEqual([]);
  appendFileSync(path, `\n${line('c')}`);
  expect(await read(readNew)).toEqual(['2 damaged', '3 c']);
});

test('takes a last line without its end that is whole', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const { readNew } = fileStore(path);
  writeFileSync(path, line('a') + line('b').trimEnd());
  expect(await read(readNew)).toEqual(['1 a', '2 b']);
});

test('goes on behind a line that is too long', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const { readNew } = fileStore(path);
  writeFileSync(path, `${line('a')}${'x'.repeat(3 * 1024 * 1024)}\n${line('b')}`);
  expect(await read(readNew)).toEqual(['1 a', '2 damaged', '3 b']);
  appendFileSync(path, line('c'));
  expect(await read(readNew)).toEqual(['4 c']);
});

test('reads another file in its place from the beginning', async () => {
  const directory = tempDirectory();
  const path = join(directory, 'state.jsonl');
  const { readNew } = fileStore(path);
  writeFileSync(path, line('a') + line('b'));
  expect(await read(readNew)).toEqual(['1 a', '2 b']);
  writeFileSync(join(directory, 'other'), line('a') + line('c') + line('d'));
  renameSync(join(directory, 'other'), path);
  expect(await read(readNew)).toEqual(['restart', '1 a', '2 c', '3 d']);
});

test('reads a file that was rewritten in place from the beginning, though it did not become shorter', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const { readNew } = fileStore(path);
  writeFileSync(path, line('a') + line('b'));
  expect(await read(readNew)).toEqual(['1 a', '2 b']);
  writeFileSync(path, line('c') + line('d') + line('e'));
  expect(await read(readNew)).toEqual(['restart', '1 c', '2 d', '3 e']);
});

test('of a file that is read once a last line without its end is looked at again a moment later', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const whole = line('b');
  const half = line('a') + whole.slice(0, 40);
  writeFileSync(path, half);
  const written = async (): Promise<void> => appendFileSync(path, whole.slice(40) + line('c'));
  expect(await read(() => readLog(path, { written }))).toEqual(['1 a', '2 b', '3 c']);
  writeFileSync(path, half);
  expect(await read(() => readLog(path))).toEqual(['1 a', '2 damaged']);
});
