import { appendFileSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CronService, createArgs, startCronService } from '../support/cron.ts';
import { type Handler, json, reset, startFakeService } from '../support/fake-service.ts';
import { stateFile } from '../support/job-service.ts';
import { expectBlocked, onlyRecord } from '../support/only-record.ts';
import { start } from '../support/program.ts';
import { propertyRuns } from '../support/properties.ts';
import { run } from '../support/run.ts';
import { write } from '../support/service.ts';
import { asNewerVersion, damage, flipBit, lineAt, readJobLog, readState } from '../support/state-file.ts';

/* A damaged line of the state may be the only evidence of a job. */

/** A bit in the middle of the value of a field. */
function bitIn(bytes: Buffer, field: string): number {
  return (bytes.indexOf(`"${field}":"`) + field.length + 5) * 8;
}

it.each(['created', 'reserved'] as const)(
  'one flipped bit in the only record (%s) of a job never allows the job to be created again',
  async (kind) => {
    const record = await onlyRecord(kind);
    const bits = fc.integer({ min: 0, max: record.bytes.length * 8 - 1 });
    await fc.assert(
      fc.asyncProperty(bits, (bit) => expectBlocked(record, bit)),
      { numRuns: propertyRuns(20) },
    );
  },
);

describe('a job whose only record is damaged', () => {
  it.each(['id', 'key', 'agent_id', 'name', 'cron_job_id', 'sum'])('in its %s blocks only that job', async (field) => {
    const record = await onlyRecord('created');
    record.write(flipBit(record.bytes, bitIn(record.bytes, field)));
    const blocked = await record.create();
    expect(blocked.code).toBe(9);
    expect(blocked.json()).toMatchObject({ status: 'unknown', cron_job_id: null });
    const warning = `warning: ${record.path}:2 cannot be used: changed after it was written: its checksum does not match\n`;
    const { error } = JSON.parse(blocked.stderr.slice(blocked.stderr.indexOf('{"error"')));
    expect(blocked.stderr).toContain(warning);
    expect(error).toMatchObject({
      type: 'outcome_unknown',
      hint: expect.stringMatching(
        /cron adopt '<cron_job_id>' --agent agt_1 --name daily.*\n.*cron forget --agent agt_1/,
      ),
      details: { line: 2, why: expect.stringContaining(`${record.path}:2, changed after it was written`) },
    });
    expect(record.posts()).toBe(0);
    expect((await record.run(...createArgs('agt_1', 'other'))).code).toBe(0);
    expect((await record.run(...createArgs('agt_2', 'daily'))).code).toBe(0);
  });

  it.each(['key', 'cron_job_id'])('in its %s can be created again once it is forgotten', async (field) => {
    const record = await onlyRecord('created');
    record.write(flipBit(record.bytes, bitIn(record.bytes, field)));
    const [forget = ''] = /(?<=partnerctl )cron forget [^"]*/.exec((await record.create()).stderr) ?? [];
    const forgotten = await record.run(...forget.split(' '), '--yes', '-o', 'json');
    expect(forgotten.json()).toMatchObject({ status: 'forgotten', agent_id: 'agt_1', name: 'daily' });
    expect((await record.create()).json()).toMatchObject({ status: 'created' });
    expect(record.posts()).toBe(1);
    expect((await record.create()).code).toBe(5);
  });

  it('can be forgotten by its key, but only once', async () => {
    const record = await onlyRecord('created');
    record.write(flipBit(record.bytes, bitIn(record.bytes, 'cron_job_id')));
    const { key } = (await record.create()).json<{ key: string }>();
    const forgotten = await record.run('cron', 'forget', key, '--yes', '-o', 'json');
    expect(forgotten.json()).toEqual({ status: 'forgotten', key, agent_id: null, name: null });
    expect((await record.run('cron', 'forget', key, '--yes')).code).toBe(4);
    expect((await record.create()).code).toBe(0);
  });

  it('exists once it is adopted', async () => {
    const record = await onlyRecord('created');
    record.write(flipBit(record.bytes, bitIn(record.bytes, 'cron_job_id')));
    const adopt = ['cron', 'adopt', 'c1', '--agent', 'agt_1', '--name', 'daily', '--yes'];
    expect((await record.run(...adopt)).code).toBe(0);
    expect((await record.create('--ensure')).json()).toMatchObject({ status: 'exists', cron_job_id: 'c1' });
    expect(record.posts()).toBe(0);
  });

  it('is shown by cron list and state verify, and blocks a dry run', async () => {
    const record = await onlyRecord('created');
    record.write(flipBit(record.bytes, bitIn(record.bytes, 'cron_job_id')));
    expect((await record.create('--dry-run')).code).toBe(9);
    expect((await record.run('cron', 'list', '--local')).stderr).toContain(`${record.path}:2 cannot be used`);
    expect((await record.run('state', 'verify')).stdout).toContain('line 2: changed after it was written');
  });
});

describe('a line whose job cannot be determined', () => {
  it.each([
    ['zeros', Buffer.alloc(400)],
    ['text', Buffer.from('the quick brown fox '.repeat(20))],
    ['more than a line may have', Buffer.alloc(2 * 1024 * 1024, 'x')],
    ['a record without its beginning', undefined],
  ])('blocks every job that has no record: %s', async (_, garbage) => {
    const record = await onlyRecord('reserved');
    const rest = record.bytes.subarray(record.bytes.indexOf('"schedule"'));
    const own = Buffer.concat([record.bytes, Buffer.from('\n'), garbage ?? rest, Buffer.from('\n')]);
    record.write(own);
    const other = createArgs('agt_1', 'other');
    expect((await record.run(...other)).code).toBe(9);
    const forgotten = await record.run('cron', 'forget', '--agent', 'agt_1', '--name', 'other', '--yes');
    expect(forgotten.code).toBe(0);
    expect((await record.run(...other)).code).toBe(0);
    expect((await record.run(...createArgs('agt_1', 'third'))).code).toBe(9);
    expect(readFileSync(record.path).subarray(0, own.length).equals(own)).toBe(true);
  });

  it('excludes lines too short for a record, records of other features, and records of another job', async () => {
    const record = await onlyRecord('created');
    const line = record.bytes.toString().trim();
    const others = [
      '<<<<<<< HEAD',
      'the quick brown fox',
      line.slice(0, 60),
      line.replace('cron.created', 'upload.done'),
      line.replace('"cron_job_id":"', '"cron_job_id":"x'),
    ];
    record.write(Buffer.from(`${others.join('\n')}\n`));
    expect((await record.run(...createArgs('agt_1', 'other'))).code).toBe(0);
    expect((await record.create()).code).toBe(9);
  });
});

/** The last line of the state of a command whose POST is handled this way. */
async function lastLine(post: Handler, args: readonly string[]): Promise<string> {
  const service = await startFakeService({ 'GET *': json({ code: 'forbidden' }, 403), 'POST *': post });
  const { path, run: act } = stateFile();
  expect((await act(service, args)).code).not.toBe(0);
  return lineAt(path, (await readState(path)).records.at(-1)?.line ?? 0);
}

describe('two records that an editor or a flipped bit joined into one line', () => {
  const refused = json({ code: 'invalid', message: 'No.' }, 422);

  it.each([
    ['the end of another job', () => lastLine(refused, createArgs('agt_1', 'before'))],
    ['another job', () => lastLine(reset, createArgs('agt_1', 'before'))],
    ['an upload', () => lastLine(refused, ['upload', write('a.txt', 'a')])],
  ])('block the job of the second one: after %s', async (_, lineBefore) => {
    const before = await lineBefore();
    const record = await onlyRecord('created');
    const joined = Buffer.concat([Buffer.from(`\n${before}\v`), record.bytes.subarray(1)]);
    record.write(joined);
    expect((await record.create()).code).toBe(9);
    expect((await record.run(...createArgs('agt_1', 'other'))).code).toBe(0);
    record.write(joined);
    expect((await record.create('--dry-run')).code).toBe(9);
    expect(record.posts()).toBe(1);
  });
});

describe('a truncated record', () => {
  it('blocks nothing if it ends before its key: it was truncated while it was written, before anything was sent', async () => {
    const record = await onlyRecord('reserved');
    record.write(record.bytes.subarray(0, record.bytes.indexOf('"key":"') + 7));
    expect((await record.create()).code).toBe(0);
  });

  it('blocks the jobs that it may belong to if it ends in or after its key', async () => {
    const record = await onlyRecord('reserved');
    for (const length of [record.bytes.indexOf('"key":"') + 10, record.bytes.length - 30]) {
      record.write(record.bytes.subarray(0, length));
      expect((await record.create()).code).toBe(9);
      expect((await record.run(...createArgs('agt_1', 'other'))).code).toBe(0);
    }
  });
});

interface FourJobs extends CronService {
  readonly ids: readonly string[];
  /** The lines of the state; the jobs `j0` to `j3` have two each, separated by blank ones. */
  readonly lines: readonly string[];
  /** The index of the line that records that `j1` was created. */
  readonly j1: number;
  write(lines: readonly string[]): void;
  run(...args: string[]): ReturnType<typeof run>;
  create(name: string): ReturnType<typeof run>;
}

/** A service with a list that can be read. @param isOwnerGone whether the process that created `j1` has ended */
async function fourJobs(isOwnerGone = false): Promise<FourJobs> {
  const at = await startCronService();
  const { service, cron, path } = at;
  const act = (...args: string[]) => run([...args, '--state', path], { env: service.env });
  const create = (name: string) => act(...cron.create(name));
  for (const name of ['j0', 'j2', 'j3']) expect((await create(name)).code).toBe(0);
  // The test's process counts as still running.
  if (isOwnerGone) {
    expect((await start(cron.create('j1', '--state', path), { env: service.env })).exitCode).toBe(0);
  } else expect((await create('j1')).code).toBe(0);
  const ids = (await Promise.all(['j0', 'j1', 'j2', 'j3'].map((name) => cron.idsOf(name)))).flat();
  expect(ids).toHaveLength(4);
  await service.forget();
  const j1 = (await readJobLog(path)).records.find(({ kind, name }) => kind === 'created' && name === 'j1');
  return {
    ...at,
    ids,
    lines: readFileSync(path, 'utf8').split('\n'),
    j1: (j1?.line ?? 0) - 1,
    write: (lines) => damage(path, () => lines.join('\n')),
    run: act,
    create,
  };
}

describe('a damaged state file', () => {
  const changed = (line = ''): string => line.replace('"agent_id":"a', '"agent_id":"b');

  it.each<[string, (lines: string[], j1: number) => number | undefined, string]>([
    [
      'in the middle',
      (lines, j1) => {
        lines[j1] = changed(lines[j1]);
        return j1 + 1;
      },
      'changed after it was written',
    ],
    [
      'at a torn end',
      (lines, j1) => {
        lines.splice(lines.length - 1, 1, (lines[j1] ?? '').slice(0, 300));
        return lines.length;
      },
      'cut short',
    ],
    [
      'by a merge that was not finished',
      (lines, j1) => {
        lines.splice(j1, 0, '<<<<<<< HEAD');
        lines.splice(j1 + 2, 0, '=======', lines[j1 + 1] ?? '', '>>>>>>> theirs');
        return j1 + 1;
      },
      'a merge conflict marker',
    ],
    [
      'with binary garbage',
      (lines, j1) => {
        lines.splice(j1, 0, '\u0000\u0001{{{');
        return j1 + 1;
      },
      'not a whole record',
    ],
    [
      'with lines twice',
      (lines) => {
        lines.push(...lines);
        return undefined;
      },
      '',
    ],
  ])('%s: intact records count, the others are reported by line, and nothing is dropped', async (_, spoil, why) => {
    const isLost = why.startsWith('changed');
    const at = await fourJobs(isLost);
    const lines = [...at.lines];
    const line = spoil(lines, at.j1);
    at.write(lines);
    const bytes = readFileSync(at.path);

    const known = await at.run('cron', 'list', '--local', '-o', 'json');
    const ids = known.json<{ cron_job_id: string | null }[]>().map(({ cron_job_id }) => cron_job_id);
    expect(ids.filter((id) => id !== null).sort()).toEqual(
      at.ids.filter((_, index) => !(isLost && index === 1)).sort(),
    );
    if (line === undefined) expect(known.stderr).toBe('');
    else expect(known.stderr).toMatch(new RegExp(`${at.path}:${line} cannot be used: .*${why}`));

    expect((await at.create('j0')).code).toBe(5);
    // If the end of a job cannot be read, only the list can tell whether the job exists.
    expect((await at.create('j1')).code).toBe(isLost ? 9 : 5);
    expect(await at.cron.posted()).toBe(0);
    expect((await at.create('j4')).code).toBe(0);
    expect(await at.cron.posted()).toBe(1);
    const after = readFileSync(at.path);
    expect(after.length).toBeGreaterThan(bytes.length);
    expect(after.subarray(0, bytes.length).equals(bytes)).toBe(true);

    if (!isLost) return;
    expect((await at.run('cron', 'reconcile')).code).toBe(0);
    expect((await at.create('j1')).json()).toMatchObject({ cron_job_id: at.ids[1], status: 'blocked' });
    expect(await at.cron.posted()).toBe(1);
  });

  it.each(['key', 'agent_id', 'cron_job_id'])(
    'is reported if all lines of a job have a damaged %s, and the list still has the job',
    async (field) => {
      const at = await fourJobs();
      const damaged = (line: string): string => line.replace(`"${field}":"`, `"${field}":"x`);
      at.write(at.lines.map((line) => (line.includes('"j1"') ? damaged(line.replace('"id":"', '"id":"x')) : line)));
      const found = await at.create('j1');
      expect(found.code).toBe(0);
      expect(found.json()).toMatchObject({ cron_job_id: at.ids[1], status: 'adopted' });
      expect(found.stderr.match(/cannot be used: changed/g)).toHaveLength(2);
      expect(await at.cron.posted()).toBe(0);
    },
  );

  it('leaves a job with a record of a newer version to that version, and the others work', async () => {
    const at = await fourJobs();
    at.write(at.lines.map((line, index) => (index === at.j1 ? asNewerVersion(line) : line)));
    const bytes = readFileSync(at.path);
    const left = await at.create('j1');
    expect(left.code).toBe(9);
    expect(left.stderr).toContain(`${at.path}:${at.j1 + 1} is`);
    expect(left.stderr).toContain('newer version');
    expect((await at.create('j2')).code).toBe(5);
    expect(await at.cron.posted()).toBe(0);
    expect((await at.create('j4')).code).toBe(0);
    expect(readFileSync(at.path).subarray(0, bytes.length).equals(bytes)).toBe(true);
  });

  it('does not damage the next record if it ends without a line feed', async () => {
    const at = await fourJobs();
    appendFileSync(at.path, '{"v":1,"type":"cron.res');
    expect((await at.create('j4')).code).toBe(0);
    const { ids, damage: damaged } = await readJobLog(at.path);
    expect({ ids: ids.length, damage: damaged.length }).toEqual({ ids: 5, damage: 1 });
  });
});
