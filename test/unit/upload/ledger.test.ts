import { describe, expect, it } from 'vitest';
import { type UploadIdentity, type UploadRecord, uploadHistory } from '../../../src/upload/history.ts';
import { type FileFacts, fileStamp, uploadKey } from '../../../src/upload/identity.ts';

const IDENTITY: UploadIdentity = {
  origin: 'https://api.partner.test/v1',
  kind: 'attachment',
  sha256: 'ab'.repeat(32),
  filename: 'a.txt',
};
const HEAD = { at: '2026-01-01T00:00:00.000Z', key: uploadKey(IDENTITY) };
const OWNER = { machine: 'm', pid: 1, started: null };

const sent = (id: string): UploadRecord => ({ ...HEAD, ...IDENTITY, id, type: 'upload.sent', owner: OWNER });
const done = (id: string, ends: string | null, upload_id: string): UploadRecord => ({
  ...HEAD,
  ...IDENTITY,
  id,
  type: 'upload.done',
  sent: ends,
  upload_id,
  stamp: null,
});
const ended = (id: string, ends: string, type: 'upload.released' | 'upload.unknown'): UploadRecord => ({
  ...HEAD,
  id,
  type,
  sent: ends,
  filename: 'a.txt',
  why: 'http_502',
});

function said(...records: UploadRecord[]): { done: string | undefined; open: string[] } {
  const history = uploadHistory(records, HEAD.key);
  const open = history.open.map((each) => `${each.sent.id}${each.unknown ? ' unknown' : ''}`);
  return { done: history.done?.upload_id, open };
}

describe('what the records of an upload say', () => {
  it.each<[string, UploadRecord[], ReturnType<typeof said>]>([
    ['nothing', [], { done: undefined, open: [] }],
    ['sent, and then killed', [sent('s1')], { done: undefined, open: ['s1'] }],
    ['answered', [sent('s1'), done('d1', 's1', 'att_1')], { done: 'att_1', open: [] }],
    ['refused', [sent('s1'), ended('e1', 's1', 'upload.released')], { done: undefined, open: [] }],
    ['lost', [sent('s1'), ended('e1', 's1', 'upload.unknown')], { done: undefined, open: ['s1 unknown'] }],
    [
      'lost, and repeated with success',
      [sent('s1'), ended('e1', 's1', 'upload.unknown'), sent('s2'), done('d1', 's2', 'att_2')],
      { done: 'att_2', open: ['s1 unknown'] },
    ],
    [
      'forced twice: the last id counts',
      [sent('s1'), done('d1', 's1', 'att_1'), sent('s2'), done('d2', 's2', 'att_2')],
      { done: 'att_2', open: [] },
    ],
    [
      'answered after all, in a copy that was merged later',
      [sent('s1'), ended('e1', 's1', 'upload.unknown'), done('d1', 's1', 'att_1')],
      { done: 'att_1', open: [] },
    ],
    ['an end before its beginning', [done('d1', 's1', 'att_1'), sent('s1')], { done: 'att_1', open: [] }],
    [
      'two at once, one of which gave way',
      [sent('s1'), sent('s2'), ended('e2', 's2', 'upload.released')],
      { done: undefined, open: ['s1'] },
    ],
    ['known again under another path', [done('d1', null, 'att_1')], { done: 'att_1', open: [] }],
  ])('%s', (_, records, expected) => {
    expect(said(...records)).toEqual(expected);
  });
});

describe('the key of an upload', () => {
  it('is short, and the same for the same', () => {
    expect(uploadKey(IDENTITY)).toMatch(/^[0-9a-f]{24}$/);
    expect(uploadKey({ ...IDENTITY })).toBe(uploadKey(IDENTITY));
  });

  it.each<[string, Partial<UploadIdentity>]>([
    ['service', { origin: 'https://other.test/v1' }],
    ['kind', { kind: 'document' }],
    ['content', { sha256: 'cd'.repeat(32) }],
    ['name', { filename: 'b.txt' }],
  ])('is another one for another %s', (_, other) => {
    expect(uploadKey({ ...IDENTITY, ...other })).not.toBe(uploadKey(IDENTITY));
  });

  it('tells apart what only looks alike when it is put together', () => {
    expect(uploadKey({ ...IDENTITY, sha256: 'a', filename: 'b","c' })).not.toBe(
      uploadKey({ ...IDENTITY, sha256: 'a","b', filename: 'c' }),
    );
  });
});

describe('the stamp of a file', () => {
  const MOMENT = 1_700_000_000_123_456_789n;
  const FACTS: FileFacts = { path: '/a/b.txt', bytes: 5, inode: 2n ** 60n, modified: MOMENT, changed: MOMENT };

  it('is short, and does not tell where the file is', () => {
    expect(fileStamp(FACTS)).toMatch(/^[0-9a-f]{24}$/);
  });

  it.each<[string, Partial<FileFacts>]>([
    ['path', { path: '/a/c.txt' }],
    ['length', { bytes: 6 }],
    ['inode, by one', { inode: 2n ** 60n + 1n }],
    ['time, by a nanosecond', { modified: MOMENT + 1n }],
    ['time of any change, by a nanosecond', { changed: MOMENT + 1n }],
  ])('is another one for another %s', (_, other) => {
    expect(fileStamp({ ...FACTS, ...other })).not.toBe(fileStamp(FACTS));
  });
});
