import { describe, expect, it } from 'vitest';
import { fileStamp, type InspectedFile, type UploadIdentity, uploadKey } from '../../../src/upload/upload-records.ts';

const IDENTITY: UploadIdentity = {
  origin: 'https://api.partner.test/v1',
  kind: 'attachment',
  sha256: 'ab'.repeat(32),
  filename: 'a.txt',
};
describe('the key of an upload', () => {
  it('is 24 hexadecimal digits, and equal for equal uploads', () => {
    expect(uploadKey(IDENTITY)).toMatch(/^[0-9a-f]{24}$/);
    expect(uploadKey({ ...IDENTITY })).toBe(uploadKey(IDENTITY));
  });

  it.each<[string, Partial<UploadIdentity>]>([
    ['service', { origin: 'https://other.test/v1' }],
    ['kind', { kind: 'document' }],
    ['content', { sha256: 'cd'.repeat(32) }],
    ['name', { filename: 'b.txt' }],
  ])('differs for a different %s', (_, other) => {
    expect(uploadKey({ ...IDENTITY, ...other })).not.toBe(uploadKey(IDENTITY));
  });

  it('differs if only the joined parts look alike', () => {
    expect(uploadKey({ ...IDENTITY, sha256: 'a', filename: 'b","c' })).not.toBe(
      uploadKey({ ...IDENTITY, sha256: 'a","b', filename: 'c' }),
    );
  });
});

describe('the stamp of a file', () => {
  const MOMENT = 1_700_000_000_123_456_789n;
  const FACTS: InspectedFile = { path: '/a/b.txt', bytes: 5, inode: 2n ** 60n, modified: MOMENT, changed: MOMENT };

  it('is 24 hexadecimal digits, and does not reveal the path', () => {
    expect(fileStamp(FACTS)).toMatch(/^[0-9a-f]{24}$/);
  });

  it.each<[string, Partial<InspectedFile>]>([
    ['path', { path: '/a/c.txt' }],
    ['length', { bytes: 6 }],
    ['inode, by one', { inode: 2n ** 60n + 1n }],
    ['time, by a nanosecond', { modified: MOMENT + 1n }],
    ['time of any change, by a nanosecond', { changed: MOMENT + 1n }],
  ])('differs for a different %s', (_, other) => {
    expect(fileStamp({ ...FACTS, ...other })).not.toBe(fileStamp(FACTS));
  });
});
