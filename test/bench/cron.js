import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeAgent } from './harness/agent.js';
import { withBulkService } from './harness/bulk-service.js';
import { withDirectory } from './harness/directory.js';
import { jobsFile } from './harness/jobs.js';
import { alternate, compare, growth, LEAST_NAME, median, shared, time } from './harness/measure.js';
import { PROGRAM, withSandbox } from './harness/sandbox.js';

const LEAST = fileURLToPath(new URL('bare/create-jobs.js', import.meta.url));
const POST_JOBS = fileURLToPath(new URL('bare/post-jobs.js', import.meta.url));

/** A record's line with other fields, and the matching checksum. */
function altered(line, fields) {
  const { sum: _, ...record } = JSON.parse(line);
  const covered = JSON.stringify({ ...record, ...fields }).slice(0, -1);
  const sum = createHash('sha256').update(covered).digest('hex').slice(0, 16);
  return `${covered},"sum":"${sum}"}`;
}

const hex = (number, digits) => number.toString(16).padStart(digits, '0');

/** The two lines of a job as those of that many others. */
function otherJobs(text, count) {
  const [reserved, created] = text.split('\n').filter((line) => line !== '');
  const lines = [];
  for (let number = 0; number < count; number += 1) {
    const [key, id, own] = [hex(number, 24), hex(number, 16), hex(number, 15)];
    // Once with one job per customer, and once with many jobs of one agent.
    const other = number % 2 === 0 ? { agent_id: `agt_${hex(number, 20)}` } : { name: `Job ${number}` };
    const fields = { key, ...other };
    lines.push(altered(reserved, { ...fields, id }));
    lines.push(altered(created, { ...fields, id: `f${own}`, reservation: id, cron_job_id: `cron_${hex(number, 20)}` }));
  }
  return lines.join('\n');
}

/** How much longer it takes to report that a job exists when the state file contains that many records of other jobs. */
function duplicateAnswer(records, rounds) {
  return withSandbox(({ env }) =>
    withDirectory(async (directory) => {
      const { agent } = await makeAgent(env);
      const [few, many] = [join(directory, 'few.jsonl'), join(directory, 'many.jsonl')];
      const job = [
        '--agent',
        agent,
        '--name',
        'Daily',
        '--instructions',
        'Sum up the day.',
        '--schedule',
        '0 9 * * 1-5',
      ];
      const args = (state) => [PROGRAM, 'cron', 'create', ...job, '--state', state];
      await time(args(few), env);
      const text = await readFile(few, 'utf8');
      await writeFile(many, `${otherJobs(text, records / 2)}\n${text}`);
      const answers = { command: args(many), baseline: args(few), code: 5, theirCode: 5 };
      const { ours, theirs } = await compare({ ...answers, rounds, env });
      return { values: ours.map((figure, index) => figure - theirs[index]) };
    }),
  );
}

/** The time of runs whose jobs all exist, in milliseconds: `ours` with 3,000 jobs, `theirs` with 300. */
const existingJobs = shared(({ rounds }) =>
  withSandbox(({ env }) =>
    withDirectory(async (directory) => {
      const { agent } = await makeAgent(env);
      const prepare = async (count) => {
        const args = await jobsFile(directory, agent, count, join(directory, 'state.jsonl'));
        await time(args, env);
        return async () => (await time(args, env)).ms;
      };
      const [theirs, ours] = [await prepare(300), await prepare(3_000)];
      return await alternate({ ours, theirs, rounds: Math.min(rounds, 5) });
    }),
  ),
);

/**
 * Prepares runs that create that many jobs.
 * @param measure gets the arguments, those of the least program, and a function that makes all jobs new again
 */
function withJobs(count, measure) {
  return withBulkService(0, ({ env, reset }) =>
    withDirectory(async (directory) => {
      const state = join(directory, 'state.jsonl');
      const args = await jobsFile(directory, 'agt_0', count, state);
      const records = join(directory, 'least.jsonl');
      return await measure({
        env: { ...env, HOME: directory, XDG_STATE_HOME: directory, XDG_CONFIG_HOME: directory },
        args,
        least: [LEAST, args[args.indexOf('-f') + 1], records],
        async renew() {
          await reset();
          for (const path of [state, records]) await rm(path, { force: true });
        },
      });
    }),
  );
}

/** @param theirs the arguments of what the command is compared with: gets those of the least program */
function newJobs(theirs) {
  return ({ rounds }) =>
    withJobs(1_000, ({ env, args, least, renew }) => {
      const timed = async (run) => {
        await renew();
        return (await time(run, env)).ms;
      };
      const figures = { ours: () => timed(args), theirs: () => timed(theirs(least)) };
      return alternate({ ...figures, rounds: Math.min(rounds, 7) });
    });
}

const newJobsOf = (count) => withJobs(count, async ({ env, args }) => (await time(args, env)).ms);

/** The time of `state verify` with the records of that many jobs. */
function verifyState(count) {
  return withJobs(1, ({ env, args }) =>
    withDirectory(async (directory) => {
      await time(args, env);
      const text = await readFile(args.at(-1), 'utf8');
      const path = join(directory, 'many.jsonl');
      await writeFile(path, `${otherJobs(text, count)}\n`);
      return (await time([PROGRAM, 'state', 'verify', '--state', path], env)).ms;
    }),
  );
}

const SIZES = [100, 1_000, 10_000];

export const rows = [
  {
    name: 'cron create -f of 1,000 jobs',
    beside: '1,000 bare POSTs through one undici connection',
    limit: 1.5,
    measure: newJobs(() => [POST_JOBS, '1000']),
  },
  {
    name: 'cron create -f of 1,000 jobs, as promised',
    beside: LEAST_NAME,
    limit: 1.9,
    measure: newJobs((least) => least),
  },
  {
    name: 'growth of cron create -f',
    limit: 1.05,
    measure: async () => growth({ sizes: SIZES, cost: newJobsOf, fixed: () => newJobsOf(1), rounds: 1 }),
  },
  {
    name: 'growth of state verify',
    limit: 1.05,
    measure: async () => growth({ sizes: SIZES, cost: verifyState, fixed: () => verifyState(1), rounds: 3 }),
  },
  {
    name: 'a duplicate job with 100,000 records in the state file, additional time',
    limit: 150,
    measure: ({ rounds }) => duplicateAnswer(100_000, rounds),
  },
  {
    name: '3,000 existing jobs with --ensure',
    unit: 's',
    limit: 2,
    measure: async (context) => ({ values: [median((await existingJobs(context)).ours) / 1000] }),
  },
  { name: '3,000 existing jobs with --ensure', beside: '300', limit: 10, measure: existingJobs },
];
