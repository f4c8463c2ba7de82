import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { listResult, objectResult } from '../../../src/output/command-result.ts';
import { writeJson, writeNdjson } from '../../../src/output/formats/json.ts';
import { stringifyJson } from '../../../src/output/formats/stringify-json.ts';
import { writeTsv } from '../../../src/output/formats/tsv.ts';
import { stringifyYaml, writeYaml } from '../../../src/output/formats/yaml.ts';
import { memorySink } from '../../support/memory-sink.ts';
import { propertyRuns } from '../../support/properties.ts';
import { anyJson, anyText } from './any-text.ts';

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

describe('writeJson', () => {
  it('writes an array with one item per line', async () => {
    expect(await written(writeJson, [{ a: 1 }, 'x', null])).toBe('[\n{"a":1},\n"x",\nnull\n]\n');
    expect(await written(writeJson, [{ a: 1 }])).toBe('[\n{"a":1}\n]\n');
    expect(await written(writeJson, [])).toBe('[]\n');
  });

  it('indents in a terminal', async () => {
    const items = [{ a: [1] }, { b: 'x\ny' }];
    expect(await written(writeJson, items, true)).toBe(`${JSON.stringify(items, null, 2)}\n`);
    expect(await written(writeJson, [], true)).toBe('[]\n');
  });

  it('writes an indented object', async () => {
    const out = memorySink();
    await writeJson(objectResult({ a: { b: 1 } }, []), out);
    expect(out.text()).toBe('{\n  "a": {\n    "b": 1\n  }\n}\n');
  });

  it("writes the list's document, built after the last row", async () => {
    const seen: number[] = [];
    async function* rows() {
      for (const item of [1, 2, 3]) {
        seen.push(item);
        yield item;
      }
    }
    const out = memorySink();
    await writeJson(listResult(rows(), [], { empty: '', document: () => ({ results: [...seen] }) }), out);
    expect(JSON.parse(out.text())).toEqual({ results: [1, 2, 3] });
  });

  it('sorts rows by sortIndex', async () => {
    const out = memorySink();
    await writeJson(listResult([3, 1, 2, 1], [], { empty: '', sortIndex: (item) => item }), out);
    expect(JSON.parse(out.text())).toEqual([1, 1, 2, 3]);
  });

  it('property: keeps any value, without raw control characters', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyJson), fc.boolean(), async (items, isTTY) => {
        const text = await written(writeJson, items, isTTY);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(items)));
        expect(text).not.toMatch(CONTROLS);
      }),
    );
  });

  it('property: keeps any text, without raw control characters', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(JSON.parse(stringifyJson(text))).toBe(text);
        expect(stringifyJson(text)).not.toMatch(CONTROLS);
      }),
      { numRuns: propertyRuns(1000) },
    );
  });
});

describe('writeSequence', () => {
  it('writes a long list as it arrives, and buffers only 4 MiB', async () => {
    const total = 200_000;
    const item = {
      space_id: 'sp_0123456789',
      name: 'A customer',
      status: 'active',
      created_at: '2026-01-01T00:00:00Z',
    };
    let pulled = 0;
    let most = 0;
    let lines = 0;
    async function* rows() {
      for (; pulled < total; pulled++) {
        most = Math.max(most, pulled - lines);
        yield item;
      }
    }
    await writeJson(listOf(rows()), {
      isTTY: false,
      columns: 80,
      async write(text) {
        lines += text.split('\n').length - 1;
      },
    });
    expect(pulled).toBe(total);
    expect(lines).toBe(total + 2);
    const buffered = (4 * 1024 * 1024) / JSON.stringify(item).length;
    expect(most).toBeLessThan(buffered + 10);
    expect(most).toBeGreaterThan(buffered - 10);
  });

  it('writes the same document whether buffered or streamed', async () => {
    const items = Array.from({ length: 60 }, (_, index) => ({ index, text: 'x'.repeat(100_000) }));
    for (const isTTY of [false, true]) {
      const out = memorySink({ isTTY });
      await writeJson(listOf(items), out);
      expect(out.writes.length).toBeGreaterThan(2);
      expect(JSON.parse(out.text())).toEqual(items);
    }
    const yaml = memorySink();
    await writeYaml(listOf(items), yaml);
    expect(yaml.writes.length).toBeGreaterThan(2);
    expect(parse(yaml.text())).toEqual(items);
  });
});

describe('writeNdjson', () => {
  it('writes a line per row before it reads the next row', async () => {
    const out = memorySink();
    const seen: number[] = [];
    async function* rows() {
      for (const item of [1, 2, 3]) {
        seen.push(out.writes.length);
        yield { item };
      }
    }
    await writeNdjson(listOf(rows()), out);
    expect(out.writes).toEqual(['{"item":1}\n', '{"item":2}\n', '{"item":3}\n']);
    expect(seen).toEqual([0, 1, 2]);
  });
});

describe('writeTsv', () => {
  const columns = [0, 1, 2].map((index) => ({
    header: `C${index}`,
    value: (cells: unknown[]) => cells[index] as string,
  }));

  it('writes no heading, and leaves absent cells empty', async () => {
    const out = memorySink();
    await writeTsv(
      listResult(
        [
          ['a', 1, true],
          ['b', null, undefined],
        ],
        columns,
        { empty: 'none' },
      ),
      out,
    );
    expect(out.writes).toEqual(['a\t1\ttrue\n', 'b\t\t\n']);
  });

  it('writes an object as one row', async () => {
    const out = memorySink();
    await writeTsv(objectResult(['a\tb', 'c\nd', ''], columns), out);
    expect(out.text()).toBe('a\\tb\tc\\nd\t\n');
  });

  it('property: separates cells by one tab each and ends rows with one line feed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(anyText, anyText, anyText)), async (rows) => {
        const out = memorySink();
        await writeTsv(listResult(rows, columns, { empty: '' }), out);
        expect(out.writes).toHaveLength(rows.length);
        for (const line of out.writes) {
          expect(line.match(/\t/g)).toHaveLength(2);
          expect(line.indexOf('\n')).toBe(line.length - 1);
        }
      }),
    );
  });
});

describe('writeYaml', () => {
  it('writes a sequence item by item', async () => {
    expect(await written(writeYaml, [{ a: 1, b: ['x'] }, 'no', null])).toBe('- a: 1\n  b:\n    - x\n- "no"\n- null\n');
    expect(await written(writeYaml, [])).toBe('[]\n');
  });

  it('writes shared objects twice, without anchors', () => {
    const shared = { a: 1 };
    expect(stringifyYaml({ x: shared, y: shared })).toBe('x:\n  a: 1\n"y":\n  a: 1\n');
  });

  it.each(['\n !', ' \n', '\n a\n  b', '\t\na', 'a\n \nb'])('keeps %j, whose lines begin with white space', (text) => {
    for (const value of [text, [text], { a: text }]) expect(parse(stringifyYaml(value))).toEqual(value);
  });

  it('property: keeps any text of several lines, with white space anywhere', () => {
    const text = fc.string({ unit: fc.constantFrom('\n', ' ', '\t', 'a', '#', '-', ':') });
    fc.assert(
      fc.property(text, (value) => {
        for (const each of [value, [value], { a: value }]) expect(parse(stringifyYaml(each))).toEqual(each);
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('property: keeps any value, without raw control characters', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = stringifyYaml(value);
        expect(parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(text).not.toMatch(CONTROLS);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});
