import { describe, expect, it } from 'vitest';
import { type CacheLine, cacheName, findCached, formatCacheLines, isDue } from '../../../src/completion/cache.ts';

const NOW = Date.UTC(2026, 0, 1);
const FRESH = { at: NOW - 10_000, tookMs: 100, failures: 0, spaces: ['s1'] };

function line(value: string, description = '', owner = ''): CacheLine {
  return { value, description, owner };
}

/** The values offered from files with these lines. */
function offer(files: Record<string, readonly CacheLine[]>, query: Partial<Parameters<typeof findCached>[0]>) {
  const texts = Object.fromEntries(
    Object.entries(files).map(([name, lines]) => [`${name}.tsv`, formatCacheLines(lines)]),
  );
  const all = { resource: 'space', typed: '', space: undefined, source: undefined, ...query } as const;
  return findCached(all, (file) => texts[file] ?? '');
}

const WORLD = {
  space: [line('s1', 'Acme', 's1'), line('s2', 'Beta', 's2')],
  'space.ext': [line('ext:acme', 'Acme', 's1')],
  'space.name': [line('name:Acme', 's1', 's1'), line('name:Beta', 's2', 's2')],
  agent: [line('a1', 'Support', 's1'), line('a2', 'Sales', 's2')],
  'agent.name': [line('name:Support', 'a1', 's1'), line('name:Sales', 'a2', 's2')],
  session: [line('ticket-1', 'src1', 'src1'), line('ticket-2', 'src2', 'src2')],
};

describe('cached values', () => {
  it('are ids with their names, and the prefixes of other references', () => {
    expect(offer(WORLD, {})).toEqual([
      ['s1', 'Acme'],
      ['s2', 'Beta'],
      ['ext:', ''],
      ['name:', ''],
    ]);
    expect(offer(WORLD, { typed: 's2' })).toEqual([['s2', 'Beta']]);
    expect(offer(WORLD, { typed: 'na' })).toEqual([['name:', '']]);
    expect(offer(WORLD, { typed: 'name:A' })).toEqual([['name:Acme', 's1']]);
    expect(offer(WORLD, { typed: 'ext:' })).toEqual([['ext:acme', 'Acme']]);
    expect(offer({}, {})).toEqual([]);
  });

  it('are agents of the typed space, by id, by external id, or by name', () => {
    for (const space of ['s1', 'ext:acme', 'name:Acme']) {
      expect(offer(WORLD, { resource: 'agent', space })).toEqual([
        ['a1', 'Support'],
        ['name:', ''],
      ]);
      expect(offer(WORLD, { resource: 'agent', space, typed: 'name:' })).toEqual([['name:Support', 'a1']]);
    }
    expect(offer(WORLD, { resource: 'agent', space: 'unknown' })).toEqual([['name:', '']]);
    expect(offer(WORLD, { resource: 'agent' })).toEqual([
      ['a1', 'Support'],
      ['a2', 'Sales'],
    ]);
    expect(offer(WORLD, { resource: 'agent', typed: 'name:S' })).toEqual([]);
  });

  it('are sessions of the typed source', () => {
    expect(offer(WORLD, { resource: 'session', source: 'src2' })).toEqual([['ticket-2', 'src2']]);
    expect(offer(WORLD, { resource: 'session' })).toHaveLength(2);
  });

  it('are at most 100 of 10,000, including the last, so that shells insert only the common prefix', () => {
    const space = Array.from({ length: 10_000 }, (_, index) => line(`spc_${String(index).padStart(5, '0')}`));
    const found = offer({ space }, { typed: 'spc_' });
    expect(found).toHaveLength(100);
    expect(found[0]?.[0]).toBe('spc_00000');
    expect(found.at(-1)?.[0]).toBe('spc_09999');
    expect(offer({ space }, { typed: 'spc_0123' })).toHaveLength(10);
    const sessions = space.map(({ value }) => line(value, '', 'src'));
    expect(offer({ session: sessions }, { resource: 'session', source: 'src' }).at(-1)?.[0]).toBe('spc_09999');
  });
});

describe('a refresh', () => {
  it.each([
    ['no refresh yet', { ...FRESH, at: 0 }, true],
    ['a minute ago', { ...FRESH, at: NOW - 61_000 }, true],
    ['half a minute ago', { ...FRESH, at: NOW - 30_000 }, false],
    ['a slow one a minute ago', { ...FRESH, at: NOW - 61_000, tookMs: 10_000 }, false],
    ['a failed one a minute ago', { ...FRESH, at: NOW - 61_000, failures: 1 }, false],
    ['a failed one two minutes ago', { ...FRESH, at: NOW - 121_000, failures: 1 }, true],
    ['the fiftieth failure an hour ago', { ...FRESH, at: NOW - 3_601_000, failures: 50 }, true],
    ['one in the future, by a clock that was set back', { ...FRESH, at: NOW + 86_400_000 }, true],
  ])('after %s has due %o', (_, status, isExpected) => {
    expect(isDue(status, NOW, Number.NEGATIVE_INFINITY, undefined)).toBe(isExpected);
  });

  it('is due immediately for the agents of another space, but not while another refresh runs', () => {
    expect(isDue(FRESH, NOW, NOW - 30_000, 's2')).toBe(true);
    expect(isDue(FRESH, NOW, NOW - 30_000, 's1')).toBe(false);
    expect(isDue(FRESH, NOW, NOW - 10_000, 's2')).toBe(false);
  });
});

it('each profile and service has a separate cache', () => {
  const names = ['default', 'acme'].flatMap((profile) =>
    ['https://a/v1', 'https://b/v1'].map((url) => cacheName(profile, url)),
  );
  expect(new Set(names).size).toBe(4);
  for (const name of names) expect(name).toMatch(/^[a-z\d]+$/);
});
