import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileStore, readLog } from '../../../src/state-old/file-store.ts';
import { encodeRecord } from '../../../src/state-old/record.ts';
import type { StoreEntry } from '../../../src/state-old/store.ts';
import { tempDirectory } from '../../support/run.ts';

const line = (id: string): string => `${encodeRecord({ type: 't', at: '2026-01-01T00:00:00.000Z', id })}\n`;

async function read(readNew: () => AsyncIterable<StoreEntry>): Promise<string[]> {
  const entries: string[] = [];
  for await (const entry of readNew()) {
    if (entry.kind === 'restart') entries.push('restart');
    else entries.push(`${entry.line} ${entry.kind === 'record' ? entry.record.id : entry.kind}`);
  }
  return entries;
}

test('each read continues where the last one stopped, with the right line numbers', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const { readNew } = fileStore(path).open();
  expect(await read(readNew)).toEqual([]);
  writeFileSync(path, `\n${line('a')}\n${line('b')}`);
  expect(await read(readNew)).toEqual(['2 a', '4 b']);
  expect(await read(readNew)).toEqual([]);
  appendFileSync(path, `\n${line('c')}${line('a')}`);
  expect(await read(readNew)).toEqual(['6 c', '7 duplicate']);
});

test('an unterminated last line is decoded once it is terminated, because it may still be incomplete', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const { readNew } = fileStore(path).open();
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

test('a torn last line is reported by the first read', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const { readNew } = fileStore(path).open();
  writeFileSync(path, line('a') + line('b').slice(0, 40));
  expect(await read(readNew)).toEqual(['1 a', '2 damaged']);
  expect(await read(readNew)).toEqual([]);
  appendFileSync(path, `\n${line('c')}`);
  expect(await read(readNew)).toEqual(['2 damaged', '3 c']);
});

test('an intact last line without a line end counts', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const { readNew } = fileStore(path).open();
  writeFileSync(path, line('a') + line('b').trimEnd());
  expect(await read(readNew)).toEqual(['1 a', '2 b']);
});

test('reading continues after a line that is too long', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const { readNew } = fileStore(path).open();
  writeFileSync(path, `${line('a')}${'x'.repeat(3 * 1024 * 1024)}\n${line('b')}`);
  expect(await read(readNew)).toEqual(['1 a', '2 damaged', '3 b']);
  appendFileSync(path, line('c'));
  expect(await read(readNew)).toEqual(['4 c']);
});

test('a file that replaced the log is read from its beginning', async () => {
  const directory = tempDirectory();
  const path = join(directory, 'state.jsonl');
  const { readNew } = fileStore(path).open();
  writeFileSync(path, line('a') + line('b'));
  expect(await read(readNew)).toEqual(['1 a', '2 b']);
  writeFileSync(join(directory, 'other'), line('a') + line('c') + line('d'));
  renameSync(join(directory, 'other'), path);
  expect(await read(readNew)).toEqual(['restart', '1 a', '2 c', '3 d']);
});

test('a file that was rewritten in place is read from its beginning, even if it did not become shorter', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const { readNew } = fileStore(path).open();
  writeFileSync(path, line('a') + line('b'));
  expect(await read(readNew)).toEqual(['1 a', '2 b']);
  writeFileSync(path, line('c') + line('d') + line('e'));
  expect(await read(readNew)).toEqual(['restart', '1 c', '2 d', '3 e']);
});

test('readLog reads an unterminated last line again a moment later', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const whole = line('b');
  const half = line('a') + whole.slice(0, 40);
  writeFileSync(path, half);
  const written = async (): Promise<void> => appendFileSync(path, whole.slice(40) + line('c'));
  expect(await read(() => readLog(path, { written }))).toEqual(['1 a', '2 b', '3 c']);
  writeFileSync(path, half);
  expect(await read(() => readLog(path))).toEqual(['1 a', '2 damaged']);
});
