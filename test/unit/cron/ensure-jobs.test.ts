import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ListedCronJob } from '../../../src/contract/resources.ts';
import { ensureJobs } from '../../../src/cron/ensure-jobs.ts';
import { JobLists } from '../../../src/cron/job-list.ts';
import { fileLog } from '../../../src/state/file-log.ts';
import { Log } from '../../../src/state/log.ts';
import { fastClock, tempDirectory } from '../../support/run.ts';

/** A service whose list shows what `shown` has, and takes a time. `events` has what happens, in order. */
function jobsWithList() {
  const [clock, events, shown]: [ReturnType<typeof fastClock>, string[], string[]] = [fastClock(), [], []];
  const schedule = { minute: '0', hour: '9', day_of_week: '*', timezone: 'UTC' };
  const toJob = (name: string) => ({ agent_id: 'a1', name, instructions: `Do ${name}.`, schedule });
  const noting = {
    ...clock,
    sleep(ms: number, signal?: AbortSignal) {
      events.push('sleep');
      return clock.sleep(ms, signal);
    },
  };
  const author = { user: null, host: 'here', pid: 1, run: undefined, commit: undefined };
  const driver = fileLog(join(tempDirectory(), 'state.jsonl'));
  const log = new Log({ driver, author, clock, redact: (text) => text });
  onTestFinished(() => log.close());
  const ensure = async (names: readonly string[], leftMs = Number.POSITIVE_INFINITY, listMs = 0) => {
    const end = clock.now() + leftMs;
    const list = async function* (): AsyncGenerator<ListedCronJob> {
      events.push('list');
      if (listMs > 0) await clock.sleep(listMs);
      for (const name of shown) yield { ...toJob(name), cron_job_id: `cron_${name}`, agent_text: undefined };
    };
    const deps = {
      ...{ origin: 'https://partner.test/v1', log, clock: noting, signal: new AbortController().signal },
      lists: new JobLists({ list, clock, hint: () => '' }),
      command: (words: readonly string[]) => words.join(' '),
      remainingMs: () => end - clock.now(),
      ...{ onUnread: () => undefined, onWait: () => undefined, notice: async () => undefined },
      post: async ({ name }: { readonly name: string }) => `cron_${name}`,
    };
    const wanted = names.map((name, index) => ({ index, source: undefined, job: toJob(name) }));
    const options = { ensure: true, dryRun: false, createBeside: true };
    await ensureJobs(deps, wanted, options, ({ job, status }) => events.push(`${job.name} ${status}`));
    return end - clock.now();
  };
  return { events, shown, ensure };
}

test('What is known of a job is told before the wait for another one that the list does not show', async () => {
  const { events, shown, ensure } = jobsWithList();
  await ensure(['known', 'unlisted']);
  shown.push('known');
  events.length = 0;
  await ensure(['known', 'unlisted'], 4_000);
  expect(events).toEqual(['list', 'known exists', 'sleep', 'list', 'unlisted blocked']);
});

test('A job that the list does not show is blocked before the time of the command is up, however slow the list is', async () => {
  const { events, ensure } = jobsWithList();
  await ensure(['unlisted']);
  for (const [leftMs, looks] of [
    [40_000, 2],
    [13_000, 0],
  ] as const) {
    events.length = 0;
    expect(await ensure(['unlisted'], leftMs, 10_000)).toBeGreaterThanOrEqual(2_000);
    expect(events).toEqual(['list', ...Array(looks).fill(['sleep', 'list']).flat(), 'unlisted blocked']);
  }
});
