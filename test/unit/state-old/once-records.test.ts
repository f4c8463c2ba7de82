import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyHistories, keyHistory, liveRecordIds, type OnceRecord } from '../../../src/state-old/once-records.ts';

const at = '2026-03-02T09:00:00.000Z';
const snapshot = 'what it is about';

type Record = OnceRecord<string>;

function reserved(id: string, key = 'k'): Record {
  const owner = { machine: 'm', pid: 1, started: null };
  return { kind: 'reserved', id, at, key, snapshot, owner, deadline: null, remoteIdsSeen: null };
}

function recorded(kind: 'created' | 'adopted', id: string, remoteId: string, reservation: string | null): Record {
  return { kind, id, at, key: 'k', snapshot, remoteId, reservation };
}

function ended(kind: 'released' | 'unknown', id: string, reservation: string): Record {
  return { kind, id, at, key: 'k', reservation, reason: 'test' };
}

function forgotten(id: string, records: readonly string[]): Record {
  return { kind: 'forgotten', id, at, key: 'k', records, lines: [] };
}

function read(...records: Record[]) {
  const { objects, open } = keyHistory(records);
  return {
    objects: objects.map(({ remoteId }) => remoteId),
    open: open.map(({ reservation, unknown }) => (unknown ? `${reservation.id}?` : reservation.id)),
  };
}

describe('the history of a key', () => {
  it('lists open reservations in log order', () => {
    expect(read(reserved('b'), reserved('a')).open).toEqual(['b', 'a']);
  });

  it.each([
    ['created', recorded('created', '2', 'cron_1', '1'), { objects: ['cron_1'], open: [] }],
    ['adopted', recorded('adopted', '2', 'cron_1', '1'), { objects: ['cron_1'], open: [] }],
    ['released', ended('released', '2', '1'), { objects: [], open: [] }],
    ['unknown', ended('unknown', '2', '1'), { objects: [], open: ['1?'] }],
    ['forgotten', forgotten('2', ['1']), { objects: [], open: [] }],
  ])('ends a reservation that was %s, or marks it unknown', (_, record, history) => {
    expect(read(reserved('1'), record)).toEqual(history);
  });

  it('releases a reservation that was unknown', () => {
    expect(read(reserved('1'), ended('unknown', '2', '1'), ended('released', '3', '1')).open).toEqual([]);
  });

  it('counts a recorded id whatever else was recorded about its reservation', () => {
    const created = recorded('created', '3', 'cron_1', '1');
    expect(read(reserved('1'), ended('released', '2', '1'), created).objects).toEqual(['cron_1']);
    expect(read(reserved('1'), forgotten('2', ['1']), created).objects).toEqual(['cron_1']);
  });

  it('forgets only the named records, not those of a merged copy', () => {
    const mine = recorded('created', '2', 'cron_1', '1');
    const theirs = recorded('created', '4', 'cron_2', '3');
    expect(read(reserved('1'), mine, reserved('3'), theirs, forgotten('5', ['2'])).objects).toEqual(['cron_2']);
  });

  it('counts an object that was forgotten and then adopted', () => {
    const records = [recorded('created', '2', 'cron_1', null), forgotten('3', ['2'])];
    expect(read(...records, recorded('adopted', '4', 'cron_1', null)).objects).toEqual(['cron_1']);
  });

  it('counts an object once that was recorded twice', () => {
    expect(read(recorded('adopted', '2', 'cron_1', null), recorded('created', '3', 'cron_1', '1')).objects).toEqual([
      'cron_1',
    ]);
  });

  it('is separate for each key', () => {
    const histories = keyHistories([reserved('1', 'k'), reserved('2', 'l'), ended('released', '3', '1')]);
    expect([...histories].map(([key, { open }]) => [key, open.length])).toEqual([
      ['k', 0],
      ['l', 1],
    ]);
  });
});

const id = fc.constantFrom('1', '2', '3', '4');
const job = fc.constantFrom('cron_1', 'cron_2');
const anyRecord: fc.Arbitrary<Record> = fc.oneof(
  id.map((own) => reserved(own)),
  fc
    .tuple(fc.constantFrom('created' as const, 'adopted' as const), job, id)
    .map(([kind, remoteId, of]) => recorded(kind, `${kind} ${remoteId} ${of}`, remoteId, of)),
  fc
    .tuple(fc.constantFrom('released' as const, 'unknown' as const), id)
    .map(([kind, of]) => ended(kind, `${kind} ${of}`, of)),
);
const anyRecords = fc.uniqueArray(anyRecord, { selector: (record) => record.id, maxLength: 12 });

describe('any records', () => {
  it('property: have the same history in any order', () => {
    fc.assert(
      fc.property(
        anyRecords.chain((records) =>
          fc.tuple(fc.constant(records), fc.shuffledSubarray(records, { minLength: records.length })),
        ),
        ([one, other]) => {
          const sets = (records: Record[]) => {
            const { objects, open } = read(...records);
            return { objects: objects.toSorted(), open: open.toSorted() };
          };
          expect(sets(other)).toEqual(sets(one));
        },
      ),
    );
  });

  it('property: leave nothing once every live record is forgotten', () => {
    fc.assert(
      fc.property(anyRecords, (records) => {
        expect(read(...records, forgotten('f', liveRecordIds(records)))).toEqual({ objects: [], open: [] });
      }),
    );
  });
});
