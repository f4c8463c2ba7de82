import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { chooseLayout, toLines } from '../../../src/output/choose-layout.ts';
import { fitWidths, measureColumns } from '../../../src/output/column-widths.ts';
import { type Column, listResult, objectResult } from '../../../src/output/command-result.ts';
import { writeTable } from '../../../src/output/formats/table.ts';
import { sanitizeLine } from '../../../src/output/sanitize.ts';
import { displayWidth, truncate, wrapToWidth } from '../../../src/output/width.ts';
import { memorySink } from '../../support/memory-sink.ts';
import { propertyRuns } from '../../support/properties.ts';
import { anyText } from './any-text.ts';

interface Space {
  id: string;
  name: string | null;
  agents: number;
}

const COLUMNS: Column<Space>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'NAME', value: ({ name }) => name },
  { header: 'AGENTS', value: ({ agents }) => agents, tone: ({ agents }) => (agents === 0 ? 'bad' : undefined) },
];

const SPACES: Space[] = [
  { id: 'sp_1', name: 'Acme 東京', agents: 2 },
  { id: 'sp_22', name: null, agents: 0 },
  { id: 'sp_333', name: '👩‍🚀 🫠', agents: 10 },
];

const spaces = (items: Iterable<Space> = SPACES) => listResult(items, COLUMNS, { empty: 'No spaces.' });

async function shown(result: Parameters<typeof writeTable>[0], columns = 80, color = false): Promise<string> {
  const out = memorySink({ isTTY: true, columns });
  await writeTable(result, out, { color });
  return out.text();
}

describe('a list in a terminal', () => {
  it('has columns aligned by display width', async () => {
    expect(await shown(spaces())).toBe(
      ['ID      NAME       AGENTS', 'sp_1    Acme 東京  2', 'sp_22              0', 'sp_333  👩‍🚀 🫠      10', ''].join(
        '\n',
      ),
    );
  });

  it('colors headings and tones only on request', async () => {
    const text = await shown(spaces(), 80, true);
    expect(text).toContain('\x1b[1mID\x1b[22m');
    expect(text).toContain('\x1b[31m0\x1b[39m');
    expect(await shown(spaces())).not.toContain('\x1b');
  });

  it('omits optional columns, the last one first, if names would wrap', async () => {
    const optional = COLUMNS.map((column) => ({ ...column, isOptional: column.header !== 'NAME' }));
    const wide = [{ id: `sp_${'1'.repeat(10)}`, name: 'a name that goes on and on', agents: 1 }];
    const headings = async (columns: number) =>
      (await shown(listResult(wide, optional, { empty: '' }), columns)).split('\n')[0]?.split(/\s+/);
    expect(await headings(49)).toEqual(['ID', 'NAME', 'AGENTS']);
    expect(await headings(48)).toEqual(['ID', 'NAME']);
    expect(await headings(40)).toEqual(['NAME']);
    expect(await headings(20)).toEqual(['NAME']);
  });

  it('omits empty columns first', async () => {
    const noted = [...COLUMNS, { header: 'NOTE', value: () => null }];
    const result = () => listResult([{ id: 'sp_1', name: 'Acme', agents: 1 }], noted, { empty: '' });
    expect(await shown(result(), 24)).toMatch(/^ID {4}NAME {2}AGENTS {2}NOTE\n/);
    expect(await shown(result(), 23)).toMatch(/^ID {4}NAME {2}AGENTS\n/);
  });

  it('shortens ids in their middle and paths at their start, and wraps only if that is not enough', async () => {
    const files = [
      { id: 'att_0123456789abcdef0123', name: 'report for Q3', path: 'customers/acme/customer-001.yaml' },
      { id: 'att_4123456789abcdef0124', name: 'report', path: 'customers/acme/customer-002.yaml' },
    ];
    const columns: Column<(typeof files)[number]>[] = [
      { header: 'ID', value: ({ id }) => id, fit: 'middle' },
      { header: 'NAME', value: ({ name }) => name },
      { header: 'FILE', value: ({ path }) => path, fit: 'start' },
    ];
    const screen = (width: number) => shown(listResult(files, columns, { empty: '' }), width);
    expect(await screen(73)).toContain('att_0123456789abcdef0123  report for Q3  customers/acme/customer-001.yaml\n');
    expect(await screen(60)).toBe(
      [
        'ID           NAME           FILE',
        'att_0…f0123  report for Q3  customers/acme/customer-001.yaml',
        'att_4…f0124  report         customers/acme/customer-002.yaml',
        '',
      ].join('\n'),
    );
    expect(await screen(48)).toContain('att_0…f0123  report for Q3  …e/customer-001.yaml\n');
    expect(await screen(47)).toBe(
      [
        'ID           NAME          FILE',
        'att_0…f0123  report for    …e/customer-001.yaml',
        '             Q3',
        'att_4…f0124  report        …e/customer-002.yaml',
        '',
      ].join('\n'),
    );
  });

  it('shortens a column less if its values would look the same', async () => {
    const ids = ['team-a-0123456789-end', 'team-b-0123456789-end', 'team-c-0123456789-end'];
    const columns: Column<string>[] = [
      { header: 'ID', value: (id) => id, fit: 'middle' },
      { header: 'NAME', value: () => 'name' },
    ];
    const lines = (await shown(listResult(ids, columns, { empty: '' }), 22)).trimEnd().split('\n').slice(1);
    expect(new Set(lines).size).toBe(3);
    for (const line of lines) expect(line).toContain('…');
  });

  it('puts notes below their rows if they do not fit next to them', async () => {
    const noted: Column<Space>[] = [
      ...COLUMNS,
      {
        header: 'NOTE',
        value: ({ name }) => name && `${name} is full: remove an agent, or ask for more.`,
        fit: 'below',
      },
    ];
    const result = () =>
      listResult(
        [
          { id: 'sp_1', name: 'Acme', agents: 1 },
          { id: 'sp_2', name: null, agents: 3 },
        ],
        noted,
        { empty: '' },
      );
    expect(await shown(result(), 70)).toContain('  1       Acme is full: remove an agent, or ask for more.\n');
    expect(await shown(result(), 32)).toBe(
      'ID    NAME  AGENTS\nsp_1  Acme  1\n  Acme is full: remove an agent,\n  or ask for more.\nsp_2        3\n',
    );
  });

  it('wraps names, and never truncates them', async () => {
    const wide = [{ id: 'sp_1', name: 'a name that goes on and on and on', agents: 1 }];
    expect(await shown(spaces(wide), 36)).toBe(
      'ID    NAME                    AGENTS\nsp_1  a name that goes on     1\n      and on and on\n',
    );
  });

  it('shortens nothing with --wide', async () => {
    const out = memorySink({ isTTY: true, columns: 30 });
    const wide = [{ id: `sp_${'1'.repeat(40)}`, name: 'a name that goes on and on and on', agents: 1 }];
    await writeTable(spaces(wide), out, { color: false, wide: true });
    expect(out.text()).toContain(`sp_${'1'.repeat(40)}  a name that goes on and on and on  1\n`);
  });

  it('becomes records if columns would be too narrow', async () => {
    const wide = [...SPACES.slice(0, 1), { id: 'sp_2', name: 'a name that goes on and on', agents: 1 }];
    expect(await shown(spaces(wide), 25)).toBe(
      [
        'ID:     sp_1',
        'NAME:   Acme 東京',
        'AGENTS: 2',
        '',
        'ID:     sp_2',
        'NAME:   a name that goes',
        '        on and on',
        'AGENTS: 1',
        '',
      ].join('\n'),
    );
  });

  it('can be shown in a terminal of any width', async () => {
    for (let columns = 1; columns < 20; columns++) expect(await shown(spaces(), columns)).toContain('ID');
  });

  it('stays a table in a narrow terminal if it fits', async () => {
    expect(await shown(spaces(), 25)).toMatch(/^ID {6}NAME/);
  });

  it('is sorted by sortIndex, and keeps the order of equal ones', async () => {
    const result = listResult(SPACES, COLUMNS, { empty: '', sortIndex: ({ agents }) => (agents === 0 ? 0 : 1) });
    const ids = (await shown(result)).split('\n').map((line) => line.split(' ')[0]);
    expect(ids).toEqual(['ID', 'sp_22', 'sp_1', 'sp_333', '']);
  });

  it('is not shortened outside a terminal', async () => {
    const out = memorySink({ isTTY: false, columns: 80 });
    await writeTable(spaces([{ id: 'x'.repeat(300), name: 'y'.repeat(300), agents: 1 }]), out, { color: false });
    expect(out.text()).toContain(`${'x'.repeat(300)}  ${'y'.repeat(300)}  1\n`);
  });

  it('has one heading and aligned columns if it is long', async () => {
    const many = Array.from({ length: 1203 }, (_, index) => ({ id: `sp_${index}`, name: 'n', agents: 7 }));
    const lines = (await shown(spaces(many))).trimEnd().split('\n');
    expect(lines).toHaveLength(1204);
    expect(lines.filter((line) => line.startsWith('ID'))).toHaveLength(1);
    expect(new Set(lines.slice(1).map((line) => line.indexOf('7', 9)))).toEqual(new Set([15]));
  });

  it('is redacted before cells are shortened', async () => {
    const secret = 'pt_live_0123456789abcdef';
    const out = memorySink({ isTTY: true, columns: 36 });
    const name = `a long, long, long ${secret}`;
    const redact = (text: string) => text.replaceAll(secret, '[redacted]');
    await writeTable(spaces([{ id: 'sp_1', name, agents: 1 }]), out, { color: false, redact });
    expect(out.text()).not.toContain('pt_');
  });

  it('property: never exceeds the width', async () => {
    const table = fc.integer({ min: 1, max: 7 }).chain((count) =>
      fc.record({
        headers: fc.array(anyText, { minLength: count, maxLength: count }),
        rows: fc.array(fc.array(anyText, { minLength: count, maxLength: count }), { minLength: 1, maxLength: 6 }),
        width: fc.integer({ min: 20, max: 200 }),
        color: fc.boolean(),
      }),
    );
    await fc.assert(
      fc.asyncProperty(table, async ({ headers, rows, width, color }) => {
        const columns = headers.map((header, index) => ({
          header,
          value: (cells: string[]) => cells[index],
          tone: () => 'good' as const,
        }));
        const text = await shown(listResult(rows, columns, { empty: '' }), width, color);
        for (const line of text.split('\n')) expect(stringWidth(line)).toBeLessThanOrEqual(width);
        if (!color) expect(text.replaceAll('\n', '')).toBe(sanitizeLine(text.replaceAll('\n', '')));
      }),
      { numRuns: propertyRuns(150) },
    );
  });
});

describe('a table in a terminal of any width', () => {
  const word = fc.stringMatching(/^[a-zA-Zé東0-9_-]{1,18}$/);
  const prose = fc.array(word, { minLength: 1, maxLength: 8 }).map((list) => list.join(' '));
  const row = fc.record({
    id: fc.stringMatching(/^[0-9a-f]{24}$/),
    name: prose,
    path: fc.array(word, { minLength: 1, maxLength: 6 }).map((list) => list.join('/')),
    status: fc.constantFrom('created', 'failed', 'unchanged'),
    note: fc.option(prose, { nil: null }),
    hash: fc.stringMatching(/^[0-9a-f]{64}$/),
  });
  type Item = typeof row extends fc.Arbitrary<infer Each> ? Each : never;
  const columns: Column<Item>[] = [
    { header: 'ID', value: ({ id }) => id, fit: 'middle' },
    { header: 'NAME', value: ({ name }) => name },
    { header: 'FILE', value: ({ path }) => path, fit: 'start' },
    { header: 'STATUS', value: ({ status }) => status },
    { header: 'NOTE', value: ({ note }) => note, fit: 'below' },
    { header: 'HASH', value: ({ hash }) => hash, fit: 'middle', isOptional: true },
  ];
  const rows = fc.array(row, { minLength: 1, maxLength: 5 });

  const layOut = (items: readonly Item[]) => {
    const texts = items.map((item) => ({
      texts: columns.map(({ value }) => sanitizeLine(String(value(item) ?? ''))),
      tones: columns.map(() => undefined),
    }));
    return { texts, plan: (width: number) => chooseLayout(measureColumns(columns, texts), texts, width) };
  };

  it('property: fits, and truncates no name, status, or note', () => {
    fc.assert(
      fc.property(rows, fc.integer({ min: 20, max: 200 }), (items, width) => {
        const { texts, plan } = layOut(items);
        const layout = plan(width);
        if (layout.kind === 'records') return;
        const total = layout.columns.reduce((sum, column) => sum + column.width + 2, -2);
        expect(total).toBeLessThanOrEqual(width);
        const shown = new Map(layout.columns.map((column) => [column.index, column]));
        for (const index of [1, 3, 4]) {
          const column = shown.get(index);
          if (!column) {
            expect(layout.below.includes(index) || texts.every((each) => each.texts[index] === '')).toBe(true);
            continue;
          }
          for (const each of texts) {
            const lines = toLines(each.texts[index] ?? '', column);
            expect(lines.join('').replaceAll(' ', '')).toBe(each.texts[index]?.replaceAll(' ', ''));
            for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(column.width);
          }
        }
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it('property: is never wider than the terminal, and loses nothing with --wide', async () => {
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 20, max: 200 }), async (items, width) => {
        const text = await shown(listResult(items, columns, { empty: '' }), width);
        for (const line of text.split('\n')) expect(stringWidth(line)).toBeLessThanOrEqual(width);
        const out = memorySink({ isTTY: true, columns: width });
        await writeTable(listResult(items, columns, { empty: '' }), out, { color: false, wide: true, now: 0 });
        for (const item of items) for (const value of Object.values(item)) expect(out.text()).toContain(value ?? '');
      }),
      { numRuns: propertyRuns(60) },
    );
  });
});

describe('an object', () => {
  it('has labeled lines that are never shortened', async () => {
    const space = { id: 'sp_1', name: 'n'.repeat(100), agents: 0 };
    expect(await shown(objectResult(space, COLUMNS), 40)).toBe(`ID:     sp_1\nNAME:   ${'n'.repeat(100)}\nAGENTS: 0\n`);
    expect(await shown(objectResult(space, COLUMNS), 40, true)).toContain('\x1b[2mAGENTS:\x1b[22m \x1b[31m0\x1b[39m');
  });
});

describe('fitWidths', () => {
  const widths = (naturals: readonly number[], room: number, min = 1) =>
    fitWidths(
      naturals.map((natural) => ({ natural, min: Math.min(min, natural) })),
      room,
    );

  it('shrinks the widest columns', () => {
    expect(widths([4, 33, 6], 32)).toEqual([4, 22, 6]);
    expect(widths([50, 60, 3], 23)).toEqual([10, 10, 3]);
    expect(widths([50, 60], 21)).toEqual([11, 10]);
    expect(widths([3, 4], 10)).toEqual([3, 4]);
  });

  it('shrinks no column below its minimum', () => {
    expect(
      fitWidths(
        [
          { natural: 50, min: 20 },
          { natural: 60, min: 5 },
        ],
        30,
      ),
    ).toEqual([20, 10]);
    expect(
      fitWidths(
        [
          { natural: 50, min: 20 },
          { natural: 60, min: 5 },
        ],
        25,
      ),
    ).toEqual([20, 5]);
  });

  it('property: uses the full width if that is too small', () => {
    const naturals = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 12 });
    const minimum = fc.integer({ min: 1, max: 20 });
    fc.assert(
      fc.property(naturals, minimum, fc.integer({ min: 240, max: 500 }), (natural, min, room) => {
        const total = natural.reduce((sum, width) => sum + width, 0);
        const result = widths(natural, room, min);
        expect(result.reduce((sum, width) => sum + width, 0)).toBe(Math.min(total, room));
        for (const [index, width] of result.entries()) {
          expect(width).toBeLessThanOrEqual(natural[index] ?? 0);
          expect(width).toBeGreaterThanOrEqual(Math.min(min, natural[index] ?? 0));
        }
      }),
    );
  });
});

describe('truncate and wrap', () => {
  it('never split a character', () => {
    expect(truncate('👩‍🚀👩‍🚀', 3)).toBe('👩‍🚀…');
    expect(truncate('👩‍🚀👩‍🚀', 2)).toBe('…');
    expect(truncate('東京都', 5)).toBe('東京…');
    expect(truncate('東京都', 6)).toBe('東京都');
    expect(truncate('e\u0301e\u0301e\u0301', 2)).toBe('e\u0301…');
  });

  it('split a character that is wider than a line', () => {
    const piled = `क${'\u0903'.repeat(30)}`;
    expect(wrapToWidth(piled, 10).map((line) => stringWidth(line))).toEqual([10, 10, 10, 1]);
  });

  it.each([
    ['2026-11-23T08:30, 2026-11-23T09:30', 20, ['2026-11-23T08:30, ', '2026-11-23T09:30']],
    ['Monday through Friday', 12, ['Monday ', 'through ', 'Friday']],
    ['one, a_long_identifier', 4, ['one,', ' a_', 'long', '_ide', 'ntif', 'ier']],
    ['to_a_long_identifier', 8, ['to_a_', 'long_', 'identifi', 'er']],
  ])('wrapping does not split words that fit: %s', (text, width, lines) => {
    expect(wrapToWidth(text, width)).toEqual(lines);
  });

  it('property: stay within the width, and wrapping keeps the text', () => {
    fc.assert(
      fc.property(anyText.map(sanitizeLine), fc.integer({ min: 2, max: 50 }), (text, width) => {
        expect(stringWidth(truncate(text, width))).toBeLessThanOrEqual(width);
        const lines = wrapToWidth(text, width);
        expect(lines.join('')).toBe(text);
        for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(width);
        expect(displayWidth(text)).toBeGreaterThanOrEqual(stringWidth(text));
      }),
    );
  });
});

it("an object's values are aligned by the labels that are shown", async () => {
  const columns: Column<Space>[] = [...COLUMNS, { header: 'A VERY LONG LABEL', value: () => null }];
  expect(await shown(objectResult({ id: 'sp_1', name: null, agents: 2 }, columns))).toBe('ID:     sp_1\nAGENTS: 2\n');
});
