import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CronRecord, historiesOf, historyOf, liveRecords } from '../../../src/cron/history.ts';

const at = '2026-03-02T09:00:00.000Z';
const facts = {
  origin: 'https://partner.test/v1',
  agent_id: 'agt_a',
  name: 'daily',
  schedule: null,
  instructions_hash: null,
  content_hash: null,
};

function reserved(id: string, key = 'k'): CronRecord {
  const owner = { machine: 'm', pid: 1, started: null };
  return { type: 'cron.reserved', id, at, key, ...facts, owner, until: at, seen: null };
}

function recorded(
  type: 'cron.created' | 'cron.adopted',
  id: string,
  cron_job_id: string,
  reservation: string | null,
): CronRecord {
  return { type, id, at, key: 'k', ...facts, cron_job_id, reservation };
}

function ended(type: 'cron.released' | 'cron.unknown', id: string, reservation: string): CronRecord {
  return { type, id, at, key: 'k', reservation, why: 'test' };
}

function forgotten(id: string, records: readonly string[]): CronRecord {
  return { type: 'cron.forgotten', id, at, key: 'k', records };
}

function read(...records: CronRecord[]) {
  const { jobs, open } = historyOf(records);
  return {
    jobs: jobs.map(({ cron_job_id }) => cron_job_id),
    open: open.map(({ reservation, unknown }) => (unknown ? `${reservation.id}?` : reservation.id)),
  };
}

describe('the history of a key', () => {
  it('begins empty', () => {
    expect(read()).toEqual({ jobs: [], open: [] });
  });

  it('has the open reservations in the order of the file', () => {
    expect(read(reserved('b'), reserved('a')).open).toEqual(['b', 'a']);
  });

  it.each([
    ['created', recorded('cron.created', '2', 'cron_1', '1'), { jobs: ['cron_1'], open: [] }],
    ['adopted', recorded('cron.adopted', '2', 'cron_1', '1'), { jobs: ['cron_1'], open: [] }],
    ['released', ended('cron.released', '2', '1'), { jobs: [], open: [] }],
    ['unknown', ended('cron.unknown', '2', '1'), { jobs: [], open: ['1?'] }],
    ['forgotten', forgotten('2', ['1']), { jobs: [], open: [] }],
  ])('ends a reservation that was %s', (_, record, history) => {
    expect(read(reserved('1'), record)).toEqual(history);
  });

  it('releases what was unknown', () => {
    expect(read(reserved('1'), ended('cron.unknown', '2', '1'), ended('cron.released', '3', '1')).open).toEqual([]);
  });

  it('counts an id whatever else was recorded of its reservation', () => {
    const created = recorded('cron.created', '3', 'cron_1', '1');
    expect(read(reserved('1'), ended('cron.released', '2', '1'), created).jobs).toEqual(['cron_1']);
    expect(read(reserved('1'), forgotten('2', ['1']), created).jobs).toEqual(['cron_1']);
  });

  it('forgets what is named, not what another copy of the file says', () => {
    const mine = recorded('cron.created', '2', 'cron_1', '1');
    const theirs = recorded('cron.created', '4', 'cron_2', '3');
    expect(read(reserved('1'), mine, reserved('3'), theirs, forgotten('5', ['2'])).jobs).toEqual(['cron_2']);
  });

  it('knows a job again that was forgotten and then adopted', () => {
    const records = [recorded('cron.created', '2', 'cron_1', null), forgotten('3', ['2'])];
    expect(read(...records, recorded('cron.adopted', '4', 'cron_1', null)).jobs).toEqual(['cron_1']);
  });

  it('has a job once that was recorded twice', () => {
    expect(
      read(recorded('cron.adopted', '2', 'cron_1', null), recorded('cron.created', '3', 'cron_1', '1')).jobs,
    ).toEqual(['cron_1']);
  });

  it('is one for each key', () => {
    const histories = historiesOf([reserved('1', 'k'), reserved('2', 'l'), ended('cron.released', '3', '1')]);
    expect([...histories].map(([key, { open }]) => [key, open.length])).toEqual([
      ['k', 0],
      ['l', 1],
    ]);
  });
});

const id = fc.constantFrom('1', '2', '3', '4');
const job = fc.constantFrom('cron_1', 'cron_2');
const anyRecord: fc.Arbitrary<CronRecord> = fc.oneof(
  id.map((own) => reserved(own)),
  fc
    .tuple(fc.constantFrom('cron.created' as const, 'cron.adopted' as const), job, id)
    .map(([type, cron_job_id, of]) => recorded(type, `${type} ${cron_job_id} ${of}`, cron_job_id, of)),
  fc
    .tuple(fc.constantFrom('cron.released' as const, 'cron.unknown' as const), id)
    .map(([type, of]) => ended(type, `${type} ${of}`, of)),
);
const anyRecords = fc.uniqueArray(anyRecord, { selector: (record) => record.id, maxLength: 12 });

describe('any records', () => {
  it('say the same in any order, but for the order itself', () => {
    fc.assert(
      fc.property(
        anyRecords.chain((records) =>
          fc.tuple(fc.constant(records), fc.shuffledSubarray(records, { minLength: records.length })),
        ),
        ([one, other]) => {
          const sets = (records: CronRecord[]) => {
            const { jobs, open } = read(...records);
            return { jobs: jobs.toSorted(), open: open.toSorted() };
          };
          expect(sets(other)).toEqual(sets(one));
        },
      ),
    );
  });

  it('leave nothing when all that is live is forgotten', () => {
    fc.assert(
      fc.property(anyRecords, (records) => {
        expect(read(...records, forgotten('f', liveRecords(records)))).toEqual({ jobs: [], open: [] });
      }),
    );
  });
});
