import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Change } from '../../src/sandbox/store/changes.ts';
import { Journal, recoverJournal } from '../../src/sandbox/store/journal.ts';
import { temporaryDirectory } from '../support/sandbox-process.ts';

function change(number: number): Change {
  return { kind: 'template', template: { template_id: `t${number}`, name: 'ü\n' } };
}

async function createJournal() {
  const path = join(await temporaryDirectory(), 'journal.jsonl');
  const file = await open(path, 'a');
  const syncs = vi.spyOn(file, 'datasync');
  return { journal: new Journal(file), syncs, changes: () => recoverJournal(path) };
}

test('a truncated journal is recovered up to its last complete line', async () => {
  const lines = [1, 2, 3].map((number) => `${JSON.stringify([change(number), change(10 * number)])}\n`);
  const path = join(await temporaryDirectory(), 'journal.jsonl');
  const bytes = Buffer.from(lines.join(''));
  for (let length = 0; length <= bytes.length; length += 1) {
    await writeFile(path, bytes.subarray(0, length));
    const whole = lines.filter((_, index) => Buffer.byteLength(lines.slice(0, index + 1).join('')) <= length);
    expect(await recoverJournal(path)).toEqual(whole.flatMap((line) => JSON.parse(line)));
    expect(await readFile(path, 'utf8')).toBe(whole.join(''));
  }
});

test.each([
  [
    'a damaged line that is not the last',
    `[{"kind"\n${JSON.stringify([change(1)])}\n`,
    'line 1 is damaged and is not the last one',
  ],
  ['an unknown change', '[{"kind":"miracle"}]\n', 'a change that this version does not know'],
  ['a line of another version', '{"sum":"00000000","changes":[]}\n', 'it was written by another version'],
])('a journal with %s is rejected and left unchanged', async (_, content, message) => {
  const path = join(await temporaryDirectory(), 'journal.jsonl');
  await writeFile(path, content);
  await expect(recoverJournal(path)).rejects.toThrow(message);
  expect(await readFile(path, 'utf8')).toBe(content);
});

test('durable resolves once the changes are in the file and synced', async () => {
  const { journal, syncs, changes } = await createJournal();
  onTestFinished(() => journal.close());
  journal.append([change(1), change(2)]);
  await journal.durable();
  await expect(syncs.mock.results[0]?.value).resolves.toBeUndefined();
  expect(await changes()).toEqual([change(1), change(2)]);
});

test('concurrent changes share a sync, and each is durable only after its own', async () => {
  const { journal, syncs, changes } = await createJournal();
  onTestFinished(() => journal.close());
  const all = Array.from({ length: 50 }, async (_, number) => {
    journal.append([change(number)]);
    await journal.durable();
    expect(await changes()).toContainEqual(change(number));
  });
  await Promise.all(all);
  expect(await changes()).toEqual(Array.from({ length: 50 }, (_, number) => change(number)));
  expect(syncs.mock.calls.length).toBeLessThan(10);
});

test('close writes what is queued, after which nothing can be appended', async () => {
  const { journal, changes } = await createJournal();
  journal.append([change(1)]);
  await journal.close();
  expect(await changes()).toEqual([change(1)]);
  expect(() => journal.append([change(2)])).toThrow('The sandbox is closed.');
});

test.runIf(process.platform === 'linux')('nothing is durable anymore after a failed write', async () => {
  const journal = new Journal(await open('/dev/full', 'a'));
  journal.append([change(1)]);
  const first = journal.durable();
  journal.append([change(2)]);
  await expect(first).rejects.toThrow(/ENOSPC/);
  await expect(journal.durable()).rejects.toThrow(/ENOSPC/);
  await expect(journal.durable()).rejects.toThrow(/ENOSPC/);
  await expect(journal.close()).rejects.toThrow(/ENOSPC/);
});
