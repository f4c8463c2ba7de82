import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Journal } from '../../src/sandbox/store/journal.ts';
import { readLine, readLines, writeLine } from '../../src/sandbox/store/lines.ts';
import type { Change } from '../../src/sandbox/store/world.ts';
import { temporaryDirectory } from './child-process.ts';

function change(number: number): Change {
  return { kind: 'token_deleted', token_id: `tok_${number}` };
}

async function freshJournal() {
  const path = join(await temporaryDirectory(), 'journal.jsonl');
  const file = await open(path, 'a');
  const syncs = vi.spyOn(file, 'datasync');
  return { journal: new Journal(file), file, syncs, changes: async () => readLines(await readFile(path)).changes };
}

describe('lines', () => {
  test('read back what was written, whatever it is', () => {
    fc.assert(
      fc.property(fc.array(fc.json()), (texts) => {
        const line = writeLine(texts);
        expect(line.indexOf('\n')).toBe(line.length - 1);
        expect(readLine(line.slice(0, -1))).toEqual(texts.map((text) => JSON.parse(text)));
      }),
    );
  });

  test('a line with any one character changed is not intact', () => {
    const line = writeLine([JSON.stringify(change(7))]).slice(0, -1);
    fc.assert(
      fc.property(fc.nat(line.length - 1), fc.constantFrom('x', '0', '"', '}'), (at, character) => {
        fc.pre(line[at] !== character);
        expect(readLine(line.slice(0, at) + character + line.slice(at + 1))).toBeUndefined();
      }),
    );
  });

  test('a journal cut anywhere gives its whole lines and where they end', () => {
    const lines = [1, 2, 3].map((number) =>
      writeLine([JSON.stringify(change(number)), JSON.stringify({ text: 'ü\n' })]),
    );
    const bytes = Buffer.from(lines.join(''));
    for (let length = 0; length <= bytes.length; length += 1) {
      const { changes, intactBytes } = readLines(bytes.subarray(0, length));
      const whole = lines.filter((_, index) => Buffer.byteLength(lines.slice(0, index + 1).join('')) <= length);
      expect(changes).toHaveLength(2 * whole.length);
      expect(intactBytes).toBe(Buffer.byteLength(whole.join('')));
    }
  });
});

describe('the journal', () => {
  test('durable resolves once the changes are in the file and synced', async () => {
    const { journal, syncs, changes } = await freshJournal();
    onTestFinished(() => journal.close());
    journal.append([change(1), change(2)]);
    await journal.durable();
    await expect(syncs.mock.results[0]?.value).resolves.toBeUndefined();
    expect(await changes()).toEqual([change(1), change(2)]);
  });

  test('changes at the same time share a sync, each durable only after its own', async () => {
    const { journal, syncs, changes } = await freshJournal();
    onTestFinished(() => journal.close());
    const all = Array.from({ length: 500 }, async (_, number) => {
      journal.append([change(number)]);
      await journal.durable();
      expect(await changes()).toContainEqual(change(number));
    });
    await Promise.all(all);
    expect(await changes()).toEqual(Array.from({ length: 500 }, (_, number) => change(number)));
    expect(syncs.mock.calls.length).toBeLessThan(10);
  });

  test('with nothing to write there is nothing to wait for and nothing written', async () => {
    const { journal, syncs } = await freshJournal();
    await journal.durable();
    await journal.close();
    expect(syncs).not.toHaveBeenCalled();
  });

  test('close writes what is in line; after it nothing can be appended', async () => {
    const { journal, changes } = await freshJournal();
    journal.append([change(1)]);
    await journal.close();
    expect(await changes()).toEqual([change(1)]);
    expect(() => journal.append([change(2)])).toThrow('The sandbox is closed.');
  });

  test.runIf(process.platform === 'linux')('after a write that failed nothing is durable any more', async () => {
    const journal = new Journal(await open('/dev/full', 'a'));
    journal.append([change(1)]);
    const first = journal.durable();
    journal.append([change(2)]);
    await expect(first).rejects.toThrow(/ENOSPC/);
    await expect(journal.durable()).rejects.toThrow(/ENOSPC/);
    await expect(journal.durable()).rejects.toThrow(/ENOSPC/);
    await expect(journal.close()).rejects.toThrow(/ENOSPC/);
  });
});
