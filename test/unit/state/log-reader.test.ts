import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { logReader } from '../../../src/state/log.ts';
import { encodeRecord } from '../../../src/state/record.ts';
import { tempDirectory } from '../../helpers/run.ts';

const line = (id: string): string => `${encodeRecord({ type: 't', at: '2026-01-01T00:00:00.000Z', id })}\n`;

async function read(readOn: ReturnType<typeof logReader>): Promise<string[]> {
  const entries: string[] = [];
  for await (const entry of readOn()) {
    entries.push(`${entry.line} ${entry.kind === 'record' ? entry.record.id : entry.kind}`);
  }
  return entries;
}

test('reads on where it stopped, with the numbers of the lines', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const readOn = logReader(path);
  expect(await read(readOn)).toEqual([]);
  writeFileSync(path, `\n${line('a')}\n${line('b')}`);
  expect(await read(readOn)).toEqual(['2 a', '4 b']);
  expect(await read(readOn)).toEqual([]);
  appendFileSync(path, `\n${line('c')}${line('a')}`);
  expect(await read(readOn)).toEqual(['6 c', '7 duplicate']);
});

test('reads a line again that had no end yet', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const readOn = logReader(path);
  const whole = line('b');
  writeFileSync(path, line('a') + whole.slice(0, 40));
  expect(await read(readOn)).toEqual(['1 a', '2 damaged']);
  appendFileSync(path, whole.slice(40));
  expect(await read(readOn)).toEqual(['2 b']);
});

test('goes on behind a line that is too long', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const readOn = logReader(path);
  writeFileSync(path, `${line('a')}${'x'.repeat(3 * 1024 * 1024)}\n${line('b')}`);
  expect(await read(readOn)).toEqual(['1 a', '2 damaged', '3 b']);
  appendFileSync(path, line('c'));
  expect(await read(readOn)).toEqual(['4 c']);
});

test('reads another file in its place from the beginning', async () => {
  const directory = tempDirectory();
  const path = join(directory, 'state.jsonl');
  const readOn = logReader(path);
  writeFileSync(path, line('a') + line('b'));
  expect(await read(readOn)).toEqual(['1 a', '2 b']);
  writeFileSync(join(directory, 'other'), line('a') + line('c') + line('d'));
  renameSync(join(directory, 'other'), path);
  expect(await read(readOn)).toEqual(['1 a', '2 c', '3 d']);
});
