import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { type Column, listResult } from '../../../src/output/command-result.ts';
import { formatTable } from '../../../src/output/table.ts';
import { propertyRuns } from '../../support/properties.ts';

interface Space {
  readonly id: string;
  readonly name: string | null;
  readonly agents: number;
}

const COLUMNS: Column<Space>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'NAME', value: ({ name }) => name },
  { header: 'AGENTS', value: ({ agents }) => agents, tone: ({ agents }) => (agents === 0 ? 'bad' : undefined) },
];

const SPACES: Space[] = [
  { id: 'sp_1', name: 'Acme 東京', agents: 2 },
  { id: 'sp_22', name: null, agents: 0 },
];

async function shown<Item>(
  items: readonly Item[],
  columns: readonly Column<Item>[],
  width = Number.POSITIVE_INFINITY,
  more: { readonly color?: boolean; readonly now?: number; readonly redact?: (text: string) => string } = {},
) {
  return formatTable(listResult(items, columns, { empty: '' }), { width, color: false, ...more });
}

describe('a table', () => {
  it('shortens and then leaves out optional columns, from the last, and says so', async () => {
    const columns: Column<Space>[] = [
      ...COLUMNS,
      { header: 'NOTHING', value: () => null },
      { header: 'TEXT', value: () => 'a text that is about as long as a line', fit: 'end', isOptional: true },
      { header: 'HASH', value: () => 'f'.repeat(32), isOptional: true },
    ];
    const at = async (width: number, of = columns) => {
      const { text, isCut } = await shown(SPACES, of, width);
      return [text.split('\n')[0]?.split(/\s+/), isCut];
    };
    expect(await at(98)).toEqual([['ID', 'NAME', 'AGENTS', 'TEXT', 'HASH'], false]);
    expect(await at(90)).toEqual([['ID', 'NAME', 'AGENTS', 'TEXT', 'HASH'], true]);
    expect(await at(50)).toEqual([['ID', 'NAME', 'AGENTS', 'TEXT'], true]);
    expect(await at(40)).toEqual([['ID', 'NAME', 'AGENTS'], true]);
    // One is enough.
    const next = { header: 'NEXT', value: () => 'in 1d', isOptional: true };
    expect(await at(40, [...columns.slice(0, -2), ...columns.slice(-1), next])).toEqual([
      ['ID', 'NAME', 'AGENTS', 'NEXT'],
      true,
    ]);
  });

  it('shortens paths at their start, shows times relative to now, and becomes records where ids do not fit', async () => {
    const files = [{ id: 'att_0123456789abcdef', path: 'customers/acme/manifest-of-2026.yaml' }];
    const columns: Column<(typeof files)[number]>[] = [
      { header: 'ID', value: ({ id }) => id },
      { header: 'FILE', value: ({ path }) => path, fit: 'start' },
      { header: 'AT', value: () => '2026-01-05T10:20:50Z, 2026-01-05T13:21:50+01:00', isTime: true },
    ];
    const now = Date.UTC(2026, 0, 5, 10, 20, 55);
    expect((await shown(files, columns, 61, { now })).text.split('\n')).toEqual([
      'ID                    FILE                      AT',
      'att_0123456789abcdef  …e/manifest-of-2026.yaml  5s ago, in 2h',
      '',
    ]);
    const records = ['ID:   att_0123456789abcdef', 'FILE: customers/acme/manifest-of-2026.yaml', 'AT:   5s ago, in 2h'];
    expect((await shown(files, columns, 50, { now })).text).toBe(`${records.join('\n')}\n`);
  });

  it('puts notes below their rows, and never splits a command in them', async () => {
    const command = 'partnerctl cron adopt cron_1 --agent agt_1 --name daily';
    const columns: Column<Space>[] = [
      ...COLUMNS,
      { header: 'NOTE', value: ({ name }) => name && `Record the job with: ${command}`, isNote: true },
    ];
    expect((await shown(SPACES, columns, 40)).text).toBe(
      `ID     NAME       AGENTS\nsp_1   Acme 東京  2\n  Record the job with:\n  ${command}\nsp_22             0\n`,
    );
  });

  it('is redacted before cells are shortened', async () => {
    const columns: Column<Space>[] = [{ header: 'NAME', value: ({ name }) => name, fit: 'end' }];
    const items = [{ id: '', name: `a name with a ${'s'.repeat(30)}`, agents: 0 }];
    const redact = (text: string) => text.replaceAll(/s{30}/g, '[redacted]');
    expect((await shown(items, columns, 22, { redact })).text).toBe('NAME\na name with a [redact…\n');
  });

  const shortenable: Column<Space>[] = COLUMNS.map((column) =>
    column.header === 'NAME' ? { ...column, fit: 'end' } : column,
  );
  it('property: is never wider than the terminal', async () => {
    const anyName = fc.string({ unit: fc.constantFrom('a', 'B', '7', ' ', '東', 'é'), maxLength: 60 });
    const anyRow = fc.record({ id: fc.stringMatching(/^[a-z]{1,20}$/), name: anyName, agents: fc.nat() });
    const anyRows = fc.array(anyRow, { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(anyRows, fc.integer({ min: 60, max: 100 }), async (rows, width) => {
        for (const line of (await shown(rows, shortenable, width)).text.split('\n')) {
          expect(stringWidth(line)).toBeLessThanOrEqual(width);
        }
      }),
      { numRuns: propertyRuns(50) },
    );
  });
});
