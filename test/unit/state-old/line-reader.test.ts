import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBlocks, splitLines } from '../../../src/state-old/line-reader.ts';
import { propertyRuns } from '../../support/properties.ts';
import { temporaryDirectory } from './files.ts';

interface ReadLine {
  readonly line: number;
  /** The line's bytes, one character each; null when it was too long. */
  readonly text: string | null;
}

async function readLines(path: string, maxLine: number, containing?: readonly string[]): Promise<ReadLine[]> {
  const file = await open(path);
  try {
    const all: ReadLine[] = [];
    for await (const block of readBlocks(file, maxLine)) {
      if (block.kind === 'tooLong') all.push({ line: block.line, text: null });
      else
        for (const { line, bytes } of splitLines(block, containing)) all.push({ line, text: bytes.toString('latin1') });
    }
    return all;
  } finally {
    await file.close();
  }
}

/** The same in the simplest way. */
function expectedLines(content: string, maxLine: number): ReadLine[] {
  return content
    .split('\n')
    .map((text, index) => ({ line: index + 1, text: text.length > maxLine ? null : text.replace(/\r$/, '') }))
    .filter(({ text }) => text !== '');
}

// Few different characters, so that line ends, braces and the searched text are common.
const content = fc.string({ unit: fc.constantFrom('\n', '\r', 'a', 'b', '{', '}'), maxLength: 200 });

describe('lines of a file', () => {
  it('property: equal the split text, however small the blocks are', async () => {
    const path = join(await temporaryDirectory(), 'lines');
    await fc.assert(
      fc.asyncProperty(content, fc.integer({ min: 1, max: 30 }), async (bytes, maxLine) => {
        await writeFile(path, bytes, 'latin1');
        expect(await readLines(path, maxLine)).toEqual(expectedLines(bytes, maxLine));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it('property: can be filtered by text, except lines that do not look like a record', async () => {
    const path = join(await temporaryDirectory(), 'lines');
    const texts = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 }), {
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(content, texts, fc.integer({ min: 1, max: 30 }), async (bytes, containing, maxLine) => {
        await writeFile(path, bytes, 'latin1');
        const wanted = expectedLines(bytes, maxLine).filter(
          ({ text }) => text === null || !/^\{.*\}$/s.test(text) || containing.some((part) => text.includes(part)),
        );
        expect(await readLines(path, maxLine, containing)).toEqual(wanted);
      }),
      { numRuns: propertyRuns(300) },
    );
  });
});
