import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileLog } from '../../../src/state/file-log.ts';
import { Log } from '../../../src/state/log.ts';
import { decode, encode } from '../../../src/state/record.ts';
import { anyCharacter, propertyRuns } from '../../support/properties.ts';
import { tempDirectory } from '../../support/run.ts';
import { flipBit } from '../../support/state-file.ts';

const AUTHOR = { user: 'ada', host: 'laptop', pid: 1 };

function recordOf(name: string) {
  return { type: 'cron.reserved', at: '2026-01-02T03:04:05.000Z', id: `id-${name}`, key: 'k', data: { name } };
}

const anyLine = fc.string({ unit: anyCharacter, maxLength: 40 }).map((name) => encode(recordOf(name)));

describe('A line', () => {
  it('of which only the beginning was written is torn, wherever it was cut', () => {
    fc.assert(
      fc.property(anyLine, fc.nat(), (line, at) => {
        const bytes = Buffer.from(line);
        const start = bytes.subarray(0, 1 + (at % (bytes.length - 1))).toString();
        expect(decode(start)).toEqual({ kind: 'torn' });
      }),
    );
  });

  it('with one flipped bit never counts for nothing: at least one of its parts is damaged', () => {
    fc.assert(
      fc.property(anyLine, fc.nat(), (line, bit) => {
        const bytes = Buffer.from(line);
        const parts = flipBit(bytes, bit % (8 * bytes.length))
          .toString()
          .split(/\r?\n/);
        expect(parts.filter((part) => part !== '').map((part) => decode(part).kind)).toContain('damaged');
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });
});

/** A log in memory, each write of which takes a turn of the event loop. */
function memoryLog() {
  const writes: (readonly string[])[] = [];
  const load = async () => ({ from: 0, lines: writes.flat() });
  const write = async (lines: readonly string[]): Promise<void> => {
    writes.push(lines);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const driver = { ...fileLog('unused'), load, write };
  return { writes, log: new Log({ driver, author: AUTHOR, clock: { now: () => 0 }, redact: (text) => text }) };
}

describe('A log', () => {
  it('writes what is appended during a write in one more write', async () => {
    const { log, writes } = memoryLog();
    await Promise.all(Array.from({ length: 20 }, (_, n) => log.append([recordOf(`r${n}`)])));
    expect(writes.length).toBeLessThanOrEqual(2);
    expect(await log.read()).toHaveLength(20);
  });

  it('takes more records at once than a function takes arguments', async () => {
    const { log, writes } = memoryLog();
    await log.append(Array.from({ length: 130_000 }, (_, n) => recordOf(`r${n}`)));
    expect(writes.flat()).toHaveLength(130_000);
  });
});

it('The state file is read once: then only what was added, unless it was replaced or shortened', async () => {
  const path = join(tempDirectory(), 'state.jsonl');
  const driver = fileLog(path);
  expect(await driver.load()).toBeUndefined();
  writeFileSync(path, 'a\nb\nc');
  expect(await driver.load()).toEqual({ from: 0, lines: ['a', 'b', 'c'] });
  appendFileSync(path, 'd\ne\n');
  expect(await driver.load()).toEqual({ from: 2, lines: ['cd', 'e', ''] });
  expect(await driver.load()).toEqual({ from: 4, lines: [''] });
  writeFileSync(path, 'a\n');
  expect(await driver.load()).toEqual({ from: 0, lines: ['a', ''] });
  writeFileSync(`${path}.new`, 'a\nb\n');
  renameSync(`${path}.new`, path);
  expect(await driver.load()).toEqual({ from: 0, lines: ['a', 'b', ''] });
});
