import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { listResult, objectResult } from '../../../src/output/command-result.ts';
import { writeJson } from '../../../src/output/json.ts';
import { tsvRow, writeLines } from '../../../src/output/lines.ts';
import { stringifyYaml } from '../../../src/output/yaml.ts';
import { propertyRuns } from '../../support/properties.ts';
import { memorySink } from '../../support/sinks.ts';
import { anyJson } from './any-text.ts';

const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f\p{Bidi_Control}\u2028\u2029\p{Cs}]/u;

const listOf = (items: Iterable<unknown> | AsyncIterable<unknown>) => listResult(items, [], { empty: '' });

async function written(
  write: (answer: ReturnType<typeof listOf>, out: ReturnType<typeof memorySink>) => Promise<void>,
  items: unknown[],
  isTTY = false,
): Promise<string> {
  const out = memorySink({ isTTY });
  await write(listOf(items), out);
  return out.text();
}

describe('JSON', () => {
  it('has one item of an array per line, and is indented in a terminal', async () => {
    const items = [{ a: [1] }, 'x\ny', null];
    expect(await written(writeJson, items)).toBe('[\n{"a":[1]},\n"x\\ny",\nnull\n]\n');
    expect(await written(writeJson, items, true)).toBe(`${JSON.stringify(items, null, 2)}\n`);
    for (const isTTY of [true, false]) expect(await written(writeJson, [], isTTY)).toBe('[]\n');
  });

  it('property: keeps any value, without raw control characters', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyJson), fc.boolean(), async (items, isTTY) => {
        const text = await written(writeJson, items, isTTY);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(items)));
        expect(text).not.toMatch(CONTROLS);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('of a long list is written as it arrives, and only 4 MiB are buffered', async () => {
    const items = Array.from({ length: 60 }, (_, index) => ({ index, text: 'x'.repeat(100_000) }));
    const out = memorySink();
    await writeJson(listOf(items), out);
    expect(out.writes.length).toBeGreaterThan(2);
    expect(out.writes[0]?.length).toBeLessThan(4.2 * 1024 * 1024);
    expect(JSON.parse(out.text())).toEqual(items);
  });
});

const columns = [0, 1, 2].map((index) => ({
  header: `C${index}`,
  value: (cells: unknown[]) => cells[index] as string,
}));

it('tab-separated rows have no heading, and leave absent cells empty; an object is one row', async () => {
  const [list, object] = [memorySink(), memorySink()];
  const rows = [
    ['a', 1, true],
    ['b', null, undefined],
  ];
  await writeLines(listResult(rows, columns, { empty: 'none' }), tsvRow, list);
  expect(list.writes).toEqual(['a\t1\ttrue\n', 'b\t\t\n']);
  await writeLines(objectResult(['a\tb', 'c\nd', ''], columns), tsvRow, object);
  expect(object.text()).toBe('a\\tb\tc\\nd\t\n');
});

it('property: YAML keeps any value, and any text of several lines, without raw control characters', () => {
  const lines = fc.string({ unit: fc.constantFrom('\n', ' ', '\t', 'a', '#', '-', ':') });
  fc.assert(
    fc.property(fc.oneof(anyJson, lines, fc.record({ a: lines })), (value) => {
      const text = stringifyYaml(value);
      expect(parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(text).not.toMatch(CONTROLS);
    }),
    { numRuns: propertyRuns(300) },
  );
});
