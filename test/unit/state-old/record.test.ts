import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type DecodedLine,
  decodeLine,
  encodeRecord,
  fieldText,
  randomRecordId,
  recordHead,
} from '../../../src/state-old/record.ts';
import { anyCharacter } from '../../support/properties.ts';
import { lineOf } from './files.ts';

function decode(line: string | Buffer): DecodedLine {
  return decodeLine(Buffer.from(line));
}

/** A line with a correct checksum, whatever its content. */
function sealed(content: string): string {
  return `${content},"sum":"${hash('sha256', content, 'hex').slice(0, 16)}"}`;
}

const head = { type: 'note', at: '2026-01-02T03:04:05.000Z', id: 'a1' };

describe('a record', () => {
  it('is a line of JSON that starts with version, type, time, and id', () => {
    const line = encodeRecord({ ...head, agent: 'agt_1' });
    expect(line).toMatch(
      /^\{"v":1,"type":"note","at":"2026-01-02T03:04:05.000Z","id":"a1","agent":"agt_1","sum":"[0-9a-f]{16}"\}$/,
    );
    expect(JSON.parse(line)).toMatchObject({ ...head, agent: 'agt_1' });
  });

  it('ends with the first 16 hex digits of the SHA-256 of the text before the checksum', () => {
    const line = encodeRecord(head);
    const covered = line.slice(0, line.indexOf(',"sum":'));
    expect(line).toBe(sealed(covered));
  });

  it('property: is decoded as it was encoded, whatever its fields contain', () => {
    const anyFields = fc.dictionary(
      fc.string({ unit: anyCharacter }).filter((key) => !['v', 'type', 'at', 'id', 'sum', '__proto__'].includes(key)),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(anyFields, (fields) => {
        const record = { ...fields, ...head };
        const line = encodeRecord(record);
        expect(line).not.toContain('\n');
        const decoded = decode(line);
        expect(decoded.kind).toBe('record');
        if (decoded.kind === 'record') expect(decoded.record).toEqual(JSON.parse(JSON.stringify(record)));
      }),
    );
  });

  it('takes its time and id from the caller', () => {
    const stamp = { now: () => Date.UTC(2026, 1, 3, 4, 5, 6, 7), newId: () => 'r1' };
    expect(recordHead('space', stamp)).toEqual({ type: 'space', at: '2026-02-03T04:05:06.007Z', id: 'r1' });
  });

  it('has a unique id', () => {
    const made = new Set(Array.from({ length: 1000 }, randomRecordId));
    expect(made.size).toBe(1000);
    for (const id of made) expect(id).toMatch(/^[0-9a-f]{16}$/);
  });

  it('property: contains the text by which a field is searched', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (value) => {
        expect(encodeRecord({ ...head, key: value })).toContain(fieldText('key', value));
      }),
    );
  });
});

describe('a line that is not a record', () => {
  it.each([
    ['<<<<<<< HEAD', /merge conflict/],
    ['=======', /merge conflict/],
    ['||||||| base', /merge conflict/],
    ['>>>>>>> theirs', /merge conflict/],
    ['========', /not a whole record/],
    ['{"v":1,"type":"no', /cut short/],
    ['{"v":1,"type":"note","at":"2026","id":"1"}', /no checksum/],
    ['[1]', /no checksum/],
    ['x', /not a whole record/],
    [lineOf('a1').replace('a1', 'a2'), /checksum does not match/],
    [`x${lineOf('a1')}`, /not a whole record/],
    [`${lineOf('a1')} `, /checksum does not match/],
  ])('is explained: %s', (line, why) => {
    expect(decode(line)).toEqual({ kind: 'damaged', why: expect.stringMatching(why) });
  });

  it.each([1, 2, 3])('is cut short after %d bytes of a character of 4', (count) => {
    const start = Buffer.from('{"v":1,"type":"note","at":"2026","id":"1","by":{"user":"');
    const line = Buffer.concat([start, Buffer.from('😀').subarray(0, count)]);
    expect(decode(line)).toEqual({ kind: 'damaged', why: 'not a whole record: cut short, or overwritten' });
  });

  it('is damaged if it is not UTF-8, even with a correct checksum', () => {
    const content = Buffer.concat([
      Buffer.from('{"v":1,"type":"note","at":"2026","id":"'),
      Buffer.from([0xff]),
      Buffer.from('"'),
    ]);
    const sum = hash('sha256', content, 'hex').slice(0, 16);
    const line = Buffer.concat([content, Buffer.from(`,"sum":"${sum}"}`)]);
    expect(decode(line)).toEqual({ kind: 'damaged', why: 'not valid UTF-8' });
    expect(decode(Buffer.from([0xc3, 0x28]))).toEqual({ kind: 'damaged', why: 'not valid UTF-8' });
  });

  it.each([
    ['{"type":"note","at":"2026","id":"1"', /version/],
    ['{"v":"1","type":"note","at":"2026","id":"1"', /version/],
    ['{"v":0,"type":"note","at":"2026","id":"1"', /version/],
    ['{"v":1.5,"type":"note","at":"2026","id":"1"', /version/],
    ['{"v":1,"at":"2026","id":"1"', /type, time, or id/],
    ['{"v":1,"type":"note","id":"1"', /type, time, or id/],
    ['{"v":1,"type":"note","at":"2026","id":7', /type, time, or id/],
    ['"text"', /not a record/],
  ])('is damaged if its checksum is correct but its content %s is not', (content, why) => {
    expect(decode(sealed(content))).toEqual({ kind: 'damaged', why: expect.stringMatching(why) });
  });
});

describe('a record of a newer version', () => {
  it('is recognized by its correct checksum', () => {
    expect(decode(sealed('{"v":7,"shape":["unknown"]'))).toMatchObject({ kind: 'newer', version: 7 });
  });

  it('is not confused with an older record with a changed digit', () => {
    expect(decode(lineOf('a1').replace('"v":1', '"v":2'))).toMatchObject({ kind: 'damaged' });
  });
});
