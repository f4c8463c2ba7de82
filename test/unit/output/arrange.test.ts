import { describe, expect, it } from 'vitest';
import { type Arrangement, arrange } from '../../../src/output/arrange.ts';
import { type Cell, type Column, listResult, objectResult } from '../../../src/output/command-result.ts';
import { writeTsv } from '../../../src/output/formats/tsv.ts';
import { memorySink } from '../../support/memory-sink.ts';

interface Job {
  readonly name: string;
  readonly runs: number;
  readonly at: Cell;
}

const COLUMNS: readonly Column<Job>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'RUNS', value: ({ runs }) => runs },
  { header: 'LAST RUN', value: ({ at }) => at, isTime: true },
];

const JOBS: readonly Job[] = [
  { name: 'job-10', runs: 9, at: '2026-01-01T10:00:00+02:00' },
  { name: 'job-9', runs: 10, at: null },
  { name: 'Job-1', runs: 10, at: '2026-01-01T09:30:00Z' },
];

async function* failing(): AsyncGenerator<Job> {
  yield* JOBS;
  throw new Error('The list broke off.');
}

async function tsv(arrangement: Arrangement, items: Iterable<Job> | AsyncIterable<Job> = JOBS): Promise<string[][]> {
  const out = memorySink();
  const written = writeTsv(arrange(listResult(items, COLUMNS, { empty: '' }), arrangement), out);
  await written.catch((error: unknown) => expect(String(error)).toContain('broke off'));
  return out
    .text()
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t'));
}

const sortBy = (header: string, isDescending = false): Arrangement => ({ sort: { header, isDescending } });

describe('arrange', () => {
  it('shows columns in the requested order', async () => {
    expect(await tsv({ columns: ['RUNS', 'NAME'] })).toEqual([
      ['9', 'job-10'],
      ['10', 'job-9'],
      ['10', 'Job-1'],
    ]);
  });

  it('sorts numbers by value, times by moment, and texts naturally, with numbers in them by value', async () => {
    const names = async (arrangement: Arrangement) => (await tsv(arrangement)).map(([name]) => name);
    expect(await names(sortBy('NAME'))).toEqual(['Job-1', 'job-9', 'job-10']);
    expect(await names(sortBy('NAME', true))).toEqual(['job-10', 'job-9', 'Job-1']);
    expect(await names(sortBy('RUNS'))).toEqual(['job-10', 'job-9', 'Job-1']);
    expect(await names(sortBy('LAST RUN'))).toEqual(['job-10', 'Job-1', 'job-9']);
  });

  it('puts rows without a value last in both orders, and keeps the order of equal ones', async () => {
    const names = async (arrangement: Arrangement) => (await tsv(arrangement)).map(([name]) => name);
    expect(await names(sortBy('LAST RUN', true))).toEqual(['Job-1', 'job-10', 'job-9']);
    expect(await names(sortBy('RUNS', true))).toEqual(['job-9', 'Job-1', 'job-10']);
  });

  it('sorts by a column that is not shown', async () => {
    const arrangement = { columns: ['NAME'], ...sortBy('LAST RUN') };
    expect(await tsv(arrangement)).toEqual([['job-10'], ['Job-1'], ['job-9']]);
  });

  it('writes the rows before a failure, sorted', async () => {
    expect((await tsv(sortBy('NAME'), failing())).map(([name]) => name)).toEqual(['Job-1', 'job-9', 'job-10']);
  });

  it('selects the lines of an object', () => {
    const [job] = JOBS;
    const { columns } = arrange(objectResult(job, COLUMNS as readonly Column<Job | undefined>[]), {
      columns: ['RUNS'],
    });
    expect(columns.map(({ header }) => header)).toEqual(['RUNS']);
  });

  it('shows a table instead of a report', () => {
    const list = listResult(JOBS, COLUMNS, { empty: '', report: () => [] });
    expect(arrange(list, {})).not.toHaveProperty('report');
    expect(arrange(list, { columns: ['NO SUCH'], ...sortBy('NO SUCH') })).not.toHaveProperty('report');
  });
});
