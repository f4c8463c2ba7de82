import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ensureJobs } from '../../../src/cron/ensure-jobs.ts';
import { JobLists } from '../../../src/cron/job-list.ts';
import { fileLog } from '../../../src/state/file-log.ts';
import { Log } from '../../../src/state/log.ts';
import { fastClock, tempDirectory } from '../../support/run.ts';

test('What is known of a job is told before the wait for another one that the list does not show', async () => {
  const told: string[] = [];
  const toldBeforeSleep: string[][] = [];
  const fast = fastClock();
  const clock = {
    ...fast,
    sleep: (ms: number, signal?: AbortSignal) => {
      toldBeforeSleep.push([...told]);
      return fast.sleep(ms, signal);
    },
  };
  const author = { user: null, host: 'here', pid: 1, run: undefined, commit: undefined };
  const driver = fileLog(join(tempDirectory(), 'state.jsonl'));
  const schedule = { minute: '0', hour: '9', day_of_week: '*', timezone: 'UTC' };
  const jobs = ['listed', 'unlisted'].map((name, index) => {
    return { index, source: undefined, job: { agent_id: 'a1', name, instructions: `Do ${name}.`, schedule } };
  });
  const [first] = jobs;
  const listed = first && { ...first.job, cron_job_id: 'cron_listed', agent_text: undefined };
  const list = async function* () {
    if (listed && told.length >= created) yield listed;
  };
  let created = 2;
  const deps = {
    ...{ origin: 'https://partner.test/v1', clock, remainingMs: () => Number.POSITIVE_INFINITY },
    log: new Log({ driver, author, clock, redact: (text) => text }),
    signal: new AbortController().signal,
    lists: new JobLists({ list, clock, hint: () => '' }),
    command: (words: readonly string[]) => words.join(' '),
    ...{ onUnavailable: () => undefined, onWait: () => undefined, notice: async () => undefined },
    post: async ({ name }: { readonly name: string }) => `cron_${name}`,
  };
  const ensure = () =>
    ensureJobs(deps, jobs, { ensure: true, dryRun: false, createBeside: true }, ({ job, status }) =>
      told.push(`${job.name} ${status}`),
    );
  await ensure();
  created = 0;
  await fast.sleep(60_000);
  told.length = 0;
  await ensure();
  expect(toldBeforeSleep[0]).toEqual(['listed exists']);
  expect(told).toEqual(['listed exists', 'unlisted blocked']);
});
