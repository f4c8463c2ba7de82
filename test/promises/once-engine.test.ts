import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createArgs, jobService, scheduleBody, startCronBehindGateway, startCronService } from '../support/cron.ts';
import { createGate, json, reset, sendJson } from '../support/fake-service.ts';
import { canTrace } from '../support/kill.ts';
import { PROGRAM, start, startFile } from '../support/program.ts';
import { propertyRuns } from '../support/properties.ts';
import { fastClock, partnerctl, run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';
import { jobRecordKinds, readJobLog, shortenLeases, stateFile } from '../support/state-file.ts';
import { bareRepository, prepared } from '../support/stores.ts';

/* How much one run may leave open, and what it tells those who come after it. */

function jobsFile(agent: string, count: number): string {
  const jobs = Array.from({ length: count }, (_, n) => {
    return `- { agent: ${agent}, name: job ${n}, instructions: Do ${n}., schedule: '0 9 * * 1-5' }\n`;
  });
  return write('jobs.yaml', jobs.join(''));
}

const count = (kinds: readonly string[], kind: string) => kinds.filter((each) => each === kind).length;

describe('An outage', () => {
  const jobs = propertyRuns(300, 100);

  it(`gets no more than two batches of a file of ${jobs} jobs, one reading of the list each, and the rest is free`, async () => {
    const { path, run } = stateFile();
    const service = await jobService();
    let lists = 0;
    service.meet((request, response) => {
      if (request.method === 'POST') return reset(request, response, 1);
      lists += 1;
      return sendJson(response, []);
    });
    const ran = await run(service, ['cron', 'create', '-f', jobsFile('a1', jobs), '-o', 'json']);
    expect(ran.code).toBe(9);
    expect(service.made.length).toBeLessThanOrEqual(16);
    expect(lists).toBeLessThanOrEqual(3);
    const statuses = ran.json<{ status: string; error: { message: string } }[]>();
    const failed = statuses.filter(({ status }) => status === 'failed');
    expect(failed).toHaveLength(jobs - service.made.length);
    expect(failed.at(-1)?.error.message).toBe('Not sent: the last 8 requests in a row got no usable response.');
    const kinds = await jobRecordKinds(path);
    expect(count(kinds, 'unknown')).toBe(service.made.length);
    expect(count(kinds, 'reserved')).toBe(service.made.length);
  });

  it('is none if the list shows what was created without a response', async () => {
    const { run } = stateFile();
    const service = await jobService();
    service.meet((request, response) =>
      request.method === 'POST' ? reset(request, response, 1) : sendJson(response, service.made),
    );
    const ran = await run(service, ['cron', 'create', '-f', jobsFile('a1', 20), '-o', 'json']);
    expect(ran.code).toBe(0);
    expect(service.made).toHaveLength(20);
  });
});

/** The slow tests play the larger file. */
const JOBS = propertyRuns(100, 50);

it(`kill -9 in a file of ${JOBS} jobs leaves at most eight of unknown outcome, and the others can be created`, async () => {
  const { cron, gateway, env, path, run } = await startCronBehindGateway();
  const arrived = createGate();
  let posts = 0;
  gateway.onPost(
    gateway.passThen((response, { status, text }) => {
      posts += 1;
      if (posts <= 18) sendJson(response, JSON.parse(text), status);
      else arrived.open();
    }),
  );
  const child = start(['cron', 'create', '-f', jobsFile(cron.agent_id, JOBS), '--ensure'], { env });
  await arrived.pass();
  child.kill('SIGKILL');
  await child;
  gateway.onPost();
  const kinds = await jobRecordKinds(path);
  expect(count(kinds, 'reserved') - count(kinds, 'created')).toBeLessThanOrEqual(8);
  gateway.onList(json([]));
  const again = await run(['cron', 'create', '-f', jobsFile(cron.agent_id, JOBS), '-o', 'json']);
  gateway.onList();
  const statuses = again.json<{ status: string }[]>().map(({ status }) => status);
  expect(statuses.filter((status) => !['blocked', 'created'].includes(status))).toEqual([]);
  expect(count(statuses, 'created')).toBeGreaterThanOrEqual(JOBS - 26);
  expect(new Set((await cron.jobs()).map(({ name }) => name)).size).toBe((await cron.jobs()).length);
});

describe('An observer', () => {
  /** A state with a reservation that a killed run left. */
  async function leftOpen() {
    const { path, run } = stateFile();
    const service = await jobService();
    service.meet((request, response) => (request.method === 'POST' ? response.destroy() : sendJson(response, [])));
    expect((await run(service, createArgs('a1', 'daily'))).code).toBe(9);
    // As if the run had been killed before it recorded that.
    writeFileSync(path, `${readFileSync(path, 'utf8').split('\n').slice(0, 2).join('\n')}\n`);
    expect(await jobRecordKinds(path)).toEqual(['reserved']);
    const ensure = async () => {
      const clock = fastClock();
      const { code } = await run(service, createArgs('a1', 'daily', '--ensure'), { clock });
      return { code, waited: clock.slept.reduce((sum, ms) => sum + ms, 0) };
    };
    return { path, run, service, ensure };
  }

  it('that watched a whole lease records it, so that a repeat does not wait again', async () => {
    const { path, ensure } = await leftOpen();
    expect(await ensure()).toEqual({ code: 9, waited: expect.closeTo(60_000, -3) });
    expect(await jobRecordKinds(path)).toEqual(['reserved', 'unknown']);
    expect(await ensure()).toEqual({ code: 9, waited: 0 });
  });

  it('waits for as long as the owner said that it may take', async () => {
    const { path, ensure } = await leftOpen();
    shortenLeases(path, 200_000);
    expect(await ensure()).toEqual({ code: 9, waited: expect.closeTo(200_000, -3) });
  });

  it.each([-3_600_000, 0, 3_600_000])(
    'decides by no foreign clock: without --ensure it is blocked (5), %i ms away from the clock of the owner',
    async (ms) => {
      const { run, service } = await leftOpen();
      const ran = await run(service, createArgs('a1', 'daily'), { clock: fastClock(Date.now() + ms) });
      expect(ran).toMatchObject({ code: 5 });
    },
  );

  it('is not needed by `cron adopt`: a person names the job, and nothing is created', async () => {
    const { run, service } = await leftOpen();
    service.meet(undefined);
    const clock = fastClock();
    expect((await run(service, ['cron', 'adopt', '1', '--yes'], { clock })).code).toBe(0);
    expect(clock.slept).toEqual([]);
  });
});

it('a job that the lost request of another agent may have made is adopted for neither (a list without agents)', async () => {
  const { run } = stateFile();
  const service = await jobService({ shown: ({ agent_id: _, ...job }) => job });
  service.meet((request, response) => {
    // The first arrives, and the second does not.
    if (request.method === 'POST' && service.made.length > 1) service.made.pop();
    return request.method === 'POST' ? reset(request, response, 1) : sendJson(response, []);
  });
  for (const agent of ['a1', 'a2']) expect((await run(service, createArgs(agent, 'daily'))).code).toBe(9);
  service.meet(undefined);
  expect(service.made).toHaveLength(1);
  const ran = await run(service, ['cron', 'reconcile', '--assume-not-created', '-o', 'json']);
  expect(ran.json()).toMatchObject([{ status: 'unknown' }, { status: 'unknown' }]);
});

it('a schedule that was changed at the service is a difference, with the state and without it', async () => {
  const { cron, gateway, path, run } = await startCronBehindGateway();
  const id = (await run(cron.create('daily'))).json<{ cron_job_id: string }>().cron_job_id;
  const changed = { cron_job_id: id, agent_id: cron.agent_id, name: 'daily', instructions: 'Sum up the day.' };
  gateway.onList(json([{ ...changed, ...scheduleBody('0 10 1-5') }]));
  const differences = [{ field: 'hour', before: '10', after: '9' }];
  for (const more of [['--ensure'], ['--ensure', '--dry-run']]) {
    const ran = await run(cron.create('daily', ...more));
    expect({ code: ran.code, json: ran.json() }).toMatchObject({ code: 5, json: { status: 'blocked', differences } });
  }
  rmSync(path);
  expect((await run(cron.create('daily', '--ensure'))).json()).toMatchObject({ status: 'blocked', differences });
});

describe.skipIf(!canTrace())('Each record is on the disk before it counts:', () => {
  it('the file is synced after each write, and the directories once it is new', async () => {
    const { cron, env } = await startCronBehindGateway();
    const directory = join(tempDirectory(), 'new');
    const trace = join(tempDirectory(), 'trace');
    const args = cron.create('daily', '--state', join(directory, 'state.jsonl'));
    await startFile(
      'strace',
      ['-f', '-y', '-e', 'trace=write,fsync', '-o', trace, process.execPath, PROGRAM, ...args],
      { env },
    );
    const calls = readFileSync(trace, 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [, call, path] = /\b(write|fsync)\(\d+<([^>]*)>/.exec(line) ?? [];
        return path?.startsWith(directory) ? [`${call} ${path.slice(directory.length)}`] : [];
      });
    const record = ['write /state.jsonl', 'fsync /state.jsonl'];
    expect(calls).toEqual(['fsync ', ...record, ...record]);
    expect(execFileSync('grep', ['-c', `fsync([0-9]*<${join(directory, '..')}>`, trace], { encoding: 'utf8' })).toBe(
      '1\n',
    );
  });
});

describe('A git whose fetch fails', () => {
  /** A state in a repository, and a `git` that fails at the fetches of these numbers. */
  async function withBrokenFetch(condition: (variable: string) => string) {
    const service = await jobService();
    const directory = tempDirectory();
    const count = join(directory, 'count');
    const script = `#!/bin/sh
case " $* " in *" fetch "*)
  echo x >> '${count}'
  n=$(wc -l < '${count}')
  [ -e '${directory}/broken' ] && [ ${condition('$n')} ] && { echo 'fatal: Connection reset by peer' >&2; exit 128; } ;;
esac
exec '${execFileSync('which', ['git'], { encoding: 'utf8' }).trim()}' "$@"
`;
    writeFileSync(join(directory, 'git'), script, { mode: 0o755 });
    const PARTNER_STATE = `git+file://${bareRepository()}#state`;
    const env = { PARTNER_STATE, PATH: `${directory}:${process.env.PATH}`, HOME: tempDirectory() };
    const act = (...args: string[]) =>
      partnerctl(service.baseUrl, args, { env, clock: fastClock(), random: () => 0.5 });
    expect((await act('state', 'init')).code).toBe(0);
    rmSync(count);
    const setBroken = (isBroken: boolean) =>
      isBroken ? writeFileSync(join(directory, 'broken'), '') : rmSync(join(directory, 'broken'));
    setBroken(true);
    return { service, act, env, setBroken };
  }

  it.each([2, 1, 3, 4].slice(0, propertyRuns(4, 1)))(
    'at call %i is called again, and the job is created once',
    async (at) => {
      const { service, act } = await withBrokenFetch((n) => `${n} -eq ${at}`);
      expect((await act(...createArgs('a1', 'daily'))).code).toBe(0);
      expect(service.made).toHaveLength(1);
    },
  );

  // Each takes a hundred processes of git, as does the next test: only the slow tests, and CI, have the time.
  it.each([2, 1, 3].slice(0, propertyRuns(3, 0)))('from call %i on blocks nothing that was not sent', async (from) => {
    const { service, act, env, setBroken } = await withBrokenFetch((n) => `${n} -ge ${from}`);
    const failed = await act('cron', 'create', '-f', jobsFile('a1', 3), '-o', 'json');
    const sent = service.made.length;
    expect([failed.code, sent]).toEqual(sent > 0 ? [0, 3] : [8, 0]);
    setBroken(false);
    const kinds = (await readJobLog(env.PARTNER_STATE, { PATH: env.PATH })).records.map(({ kind }) => kind);
    expect(count(kinds, 'reserved')).toBe(count(kinds, 'released') + count(kinds, 'created'));
    expect((await act('cron', 'create', '-f', jobsFile('a1', 3), '--ensure', '-o', 'json')).code).toBe(0);
    expect(service.made).toHaveLength(3);
  });
});

it.each(['git'].slice(0, propertyRuns(1, 0)))(
  'two machines that share a state in %s create a job once, although neither may read the list',
  async () => {
    const { service, cron } = await startCronService();
    const PARTNER_STATE = await prepared(`git+file://${bareRepository()}#state`);
    const blind = { ...(await service.envFor(['cron_jobs.write'])), PARTNER_STATE, PATH: process.env.PATH };
    const create = () => run(cron.create('daily'), { env: { ...blind, HOME: tempDirectory() } });
    const both = await Promise.all([create(), create()]);
    expect(both.map(({ code }) => code).toSorted()).toEqual([0, 5]);
    expect(await cron.idsOf('daily')).toHaveLength(1);
    expect(await cron.posted()).toBe(1);
  },
);
