import { appendFile, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { appendRecord } from '../../../src/state-old/append.ts';
import { readLog } from '../../../src/state-old/file-store.ts';
import { ensureWritable } from '../../../src/state-old/open-durably.ts';
import { fieldText, MAX_LINE_BYTES } from '../../../src/state-old/record.ts';
import { propertyRuns } from '../../support/properties.ts';
import { entries, ids, lineOf, temporaryDirectory, text } from './files.ts';

const head = { type: 'note', at: '2026-01-02T03:04:05.000Z' };

describe('ensureWritable', () => {
  it('leaves an existing file unchanged', async () => {
    const path = join(await temporaryDirectory(), 'state.jsonl');
    await appendRecord(path, { ...head, id: '1' });
    const before = await text(path);
    await ensureWritable(path);
    expect(await text(path)).toBe(before);
  });

  it('rejects the paths that appending rejects', async () => {
    const directory = await temporaryDirectory();
    const dangling = join(directory, 'dangling');
    await symlink(join(directory, 'nowhere', 'state.jsonl'), dangling);
    for (const path of [dangling, directory, '/dev/null']) {
      const refusal = await appendRecord(path, { ...head, id: '1' }).catch((error) => error);
      expect(refusal).toMatchObject({ type: 'local', message: `The state file could not be written: ${path}` });
      await expect(ensureWritable(path)).rejects.toMatchObject({
        message: refusal.message,
        info: { why: refusal.info.why },
      });
    }
  });
});

describe('appending', () => {
  it('creates the file and its directories with access only for the owner', async () => {
    const directory = join(await temporaryDirectory(), 'made', 'deep');
    const path = join(directory, 'state.jsonl');
    await appendRecord(path, { ...head, id: '1', key: 'é' });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect((await stat(join(directory, '..'))).mode & 0o777).toBe(0o700);
    expect(await entries(path)).toEqual([{ kind: 'record', line: 2, record: { ...head, id: '1', key: 'é' } }]);
  });

  it('does not change existing content, whatever it is', async () => {
    const path = join(await temporaryDirectory(), 'state.jsonl');
    await writeFile(path, 'not a record', { mode: 0o640 });
    await appendRecord(path, { ...head, id: '1' });
    expect(await text(path)).toBe(`not a record\n${lineOf('1')}\n`);
    expect((await stat(path)).mode & 0o777).toBe(0o640);
  });

  it('is not affected by a torn line before it', async () => {
    const path = join(await temporaryDirectory(), 'state.jsonl');
    await writeFile(path, `\n${lineOf('1')}\n\n${lineOf('2').slice(0, 40)}`);
    await appendRecord(path, { ...head, id: '3' });
    expect(await ids(path)).toEqual(['1', '3']);
    expect((await entries(path)).filter(({ kind }) => kind === 'damaged')).toMatchObject([{ line: 4 }]);
  });

  it('follows a symbolic link and keeps it, even to a file that does not exist yet', async () => {
    const directory = await temporaryDirectory();
    await mkdir(join(directory, 'elsewhere'));
    const target = join(directory, 'elsewhere', 'real.jsonl');
    const link = join(directory, 'state.jsonl');
    await symlink(target, link);
    await appendRecord(link, { ...head, id: '1' });
    await appendRecord(link, { ...head, id: '2' });
    expect(await ids(target)).toEqual(['1', '2']);
  });

  it('rejects a record that could not be read back, and accepts the longest that can', async () => {
    const path = join(await temporaryDirectory(), 'state.jsonl');
    const room = MAX_LINE_BYTES - lineOf('1', { key: '' }).length;
    await expect(appendRecord(path, { ...head, id: '1', key: 'x'.repeat(room + 1) })).rejects.toMatchObject({
      type: 'local',
      info: { why: expect.stringContaining(`${MAX_LINE_BYTES + 1} bytes`) },
    });
    await appendRecord(path, { ...head, id: '1', key: 'x'.repeat(room) });
    await appendFile(path, `${lineOf('2', { key: 'x'.repeat(room) })}\r\n`);
    expect(await ids(path)).toEqual(['1', '2']);
  });
});

describe('reading', () => {
  it('treats a missing or empty file as an empty log', async () => {
    const directory = await temporaryDirectory();
    expect(await entries(join(directory, 'missing', 'state.jsonl'))).toEqual([]);
    await writeFile(join(directory, 'empty'), '');
    expect(await entries(join(directory, 'empty'))).toEqual([]);
  });

  it('can stop at any record', async () => {
    const path = join(await temporaryDirectory(), 'state.jsonl');
    for (const id of ['1', '2', '3']) await appendRecord(path, { ...head, id });
    for await (const entry of readLog(path)) {
      expect(entry).toMatchObject({ record: { id: '1' } });
      break;
    }
  });

  it('can be filtered by key, with the same line numbers and order', async () => {
    const path = join(await temporaryDirectory(), 'state.jsonl');
    for (const id of ['1', '2', '3', '4'])
      await appendRecord(path, { ...head, id, key: Number(id) % 2 ? 'odd' : 'even' });
    const all = await entries(path);
    const odd = all.filter((entry) => entry.kind === 'record' && entry.record.key === 'odd');
    expect(odd).toHaveLength(2);
    expect(await entries(path, { containing: [fieldText('key', 'odd')] })).toEqual(odd);
    expect(await entries(path, { containing: [fieldText('key', 'odd'), fieldText('key', 'even')] })).toEqual(all);
    expect(await entries(path, { containing: [] })).toEqual([]);
  });
});

describe('damage of any kind', () => {
  const written = fc
    .uniqueArray(fc.stringMatching(/^[0-9a-f]{6}$/), { minLength: 1, maxLength: 8 })
    .map((made) => made.map((id) => lineOf(id, { name: `é ${id}` })));

  const damage = fc.oneof(
    fc.record({ how: fc.constant('flip' as const), at: fc.nat(), bits: fc.integer({ min: 1, max: 255 }) }),
    fc.record({ how: fc.constant('cut' as const), at: fc.nat(), length: fc.integer({ min: 1, max: 300 }) }),
    fc.record({
      how: fc.constant('insert' as const),
      at: fc.nat(),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
    }),
    fc.record({ how: fc.constant('repeat' as const), at: fc.nat(), length: fc.integer({ min: 1, max: 300 }) }),
    fc.record({ how: fc.constant('truncate' as const), at: fc.nat() }),
  );
  type Damage = typeof damage extends fc.Arbitrary<infer Value> ? Value : never;

  function damagedBy(content: Buffer, hurt: Damage): Buffer {
    const at = hurt.at % (content.length + 1);
    const before = content.subarray(0, at);
    const after = content.subarray(at);
    switch (hurt.how) {
      case 'flip':
        return Buffer.concat([before, Buffer.from([(after[0] ?? 0) ^ hurt.bits]), after.subarray(1)]);
      case 'cut':
        return Buffer.concat([before, after.subarray(hurt.length)]);
      case 'insert':
        return Buffer.concat([before, hurt.bytes, after]);
      case 'repeat':
        return Buffer.concat([before, after.subarray(0, hurt.length), after]);
      case 'truncate':
        return before;
    }
  }

  it('property: hides no intact record, adds none, and is reported line by line', async () => {
    const path = join(await temporaryDirectory(), 'state.jsonl');
    await fc.assert(
      fc.asyncProperty(written, fc.array(damage, { minLength: 1, maxLength: 4 }), async (lines, hurts) => {
        const sound = Buffer.from(lines.map((line) => `\n${line}\n`).join(''));
        const content = hurts.reduce(damagedBy, sound);
        await writeFile(path, content);
        const known = new Set(lines.map((line) => Buffer.from(line).toString('latin1')));
        const seen = new Set<string>();
        const expected = content
          .toString('latin1')
          .split('\n')
          .map((line, index) => ({ line: index + 1, bytes: line.replace(/\r$/, '') }))
          .filter(({ bytes }) => bytes !== '')
          .map(({ line, bytes }) => {
            if (!known.has(bytes)) return { kind: 'damaged', line };
            if (seen.has(bytes)) return { kind: 'duplicate', line };
            seen.add(bytes);
            const { v: _v, sum: _sum, ...record } = JSON.parse(Buffer.from(bytes, 'latin1').toString());
            return { kind: 'record', line, record };
          });
        const found = await entries(path);
        expect(
          found.map((entry) => (entry.kind === 'damaged' ? { kind: entry.kind, line: entry.line } : entry)),
        ).toEqual(expected);
      }),
      { numRuns: propertyRuns(250) },
    );
  });

  it('property: loses only the torn writes', async () => {
    const path = join(await temporaryDirectory(), 'state.jsonl');
    const writes = fc.array(fc.record({ kept: fc.double({ min: 0, max: 1, noNaN: true }), torn: fc.boolean() }), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(writes, async (made) => {
        const parts = made.map(({ kept, torn }, index) => {
          const whole = `\n${lineOf(String(index))}\n`;
          return torn ? whole.slice(0, Math.floor(kept * (whole.length - 2))) : whole;
        });
        await writeFile(path, parts.join(''));
        const sound = made.flatMap(({ torn }, index) => (torn ? [] : [String(index)]));
        expect(await ids(path)).toEqual(sound);
      }),
      { numRuns: propertyRuns(100) },
    );
  });
});
