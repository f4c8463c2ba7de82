import { rmdirSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeRecord } from '../../../src/state/record.ts';
import { appendUploadRecord, openUploadLog } from '../../../src/state/upload.ts';
import type { UploadRecord } from '../../../src/upload/history.ts';
import { temporaryDirectory } from './files.ts';

const IDENTITY = {
  origin: 'https://api.partner.test/v1',
  kind: 'attachment',
  sha256: 'ab',
  filename: 'a.txt',
} as const;
const HEAD = { at: '2026-01-02T03:04:05.000Z', key: 'k' };
const SENT = {
  ...HEAD,
  ...IDENTITY,
  id: 's1',
  type: 'upload.sent',
  owner: { machine: 'm', pid: 1, started: null },
} as const;
const DONE = {
  ...HEAD,
  ...IDENTITY,
  id: 'd1',
  type: 'upload.done',
  sent: null,
  upload_id: 'att_1',
  stamp: null,
} as const;
const UNKNOWN = { ...HEAD, id: 'u1', type: 'upload.unknown', sent: 's1', filename: 'a.txt', why: 'http_502' } as const;
const RELEASED = { ...UNKNOWN, id: 'r1', type: 'upload.released' } as const;

async function statePath(...records: readonly UploadRecord[]): Promise<string> {
  const path = join(await temporaryDirectory(), 'state.jsonl');
  writeFileSync(path, records.map((record) => `${encodeRecord(record)}\n`).join(''));
  return path;
}

describe('the uploads of a file name', () => {
  it('come as they were written, in order, and those of no other', async () => {
    const path = await statePath(SENT, UNKNOWN, { ...SENT, id: 'other', filename: 'b.txt' });
    await appendUploadRecord(path, RELEASED);
    await appendUploadRecord(path, DONE);
    const look = openUploadLog(path, ['a.txt']);
    expect(await look('a.txt')).toEqual({ records: [SENT, UNKNOWN, RELEASED, DONE], unusable: [] });
  });

  it('come with what is new each time, and what was given stays as it was', async () => {
    const path = await statePath(SENT);
    const look = openUploadLog(path, ['a.txt']);
    const { records } = await look('a.txt');
    await appendUploadRecord(path, DONE);
    expect((await look('a.txt')).records).toEqual([SENT, DONE]);
    expect(records).toEqual([SENT]);
  });

  it('are all there for each of several that are asked for at once', async () => {
    const others = Array.from({ length: 2_000 }, (_, index) => ({ ...DONE, id: `d${index}` }));
    const path = await statePath(...others, { ...DONE, id: 'last', filename: 'b.txt' });
    const look = openUploadLog(path, ['a.txt', 'b.txt']);
    const found = await Promise.all(['a.txt', 'b.txt', 'b.txt'].map(look));
    expect(found.map(({ records }) => records.length)).toEqual([2_000, 1, 1]);
  });

  it('come also where they could not be read before', async () => {
    const path = join(await temporaryDirectory(), 'state.jsonl');
    await mkdir(path);
    const look = openUploadLog(path, ['a.txt']);
    await expect(look('a.txt')).rejects.toThrow('state file');
    rmdirSync(path);
    writeFileSync(path, `${encodeRecord(SENT)}\n`);
    expect((await look('a.txt')).records).toEqual([SENT]);
  });

  it.each([
    ...(['key', 'origin', 'kind', 'sha256', 'filename', 'owner'] as const).map((field) => [SENT, field] as const),
    ...(['sent', 'upload_id', 'stamp'] as const).map((field) => [DONE, field] as const),
    ...(['sent', 'why', 'filename'] as const).map((field) => [UNKNOWN, field] as const),
  ])('leave out what is not whole, and say so: %o without %s', async (record, field) => {
    const path = await statePath(SENT);
    writeFileSync(path, `${encodeRecord({ ...record, [field]: 7 })}\n`, { flag: 'a' });
    expect(await openUploadLog(path, ['a.txt'])('a.txt')).toEqual({
      records: [SENT],
      unusable: [{ line: 2, why: 'not a whole record of an upload' }],
    });
  });
});
