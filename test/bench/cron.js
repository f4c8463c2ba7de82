import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeAgent } from './harness/agent.js';
import { withDirectory } from './harness/directory.js';
import { jobsFile } from './harness/jobs.js';
import { alternate, compare, median, shared, time } from './harness/measure.js';
import { PROGRAM, withSandbox } from './harness/sandbox.js';

/** A record's line with other fields, and the checksum that goes with them. */
function altered(line, fields) {
  const { sum: _, ...record } = JSON.parse(line);
  const covered = JSON.stringify({ ...record, ...fields }).slice(0, -1);
  const sum = createHash('sha256').update(covered).digest('hex').slice(0, 16);
  return `${covered},"sum":"${sum}"}`;
}

const hex = (number, digits) => number.toString(16).padStart(digits, '0');

/** The two lines of a job as those of so many other ones. */
function otherJobs(text, count) {
  const [reserved, created] = text.split('\n').filter((line) => line !== '');
  const lines = [];
  for (let number = 0; number < count; number += 1) {
    const [key, id, own] = [hex(number, 24), hex(number, 16), hex(number, 15)];
    // As with one job for each customer, and with many jobs of one agent.
    const other = number % 2 === 0 ? { agent_id: `agt_${hex(number, 20)}` } : { name: `Job ${number}` };
    const fields = { key, ...other };
    lines.push(altered(reserved, { ...fields, id }));
    lines.push(altered(created, { ...fields, id: `f${own}`, reservation: id, cron_job_id: `cron_${hex(number, 20)}` }));
  }
  return lines.join('\n');
}

/** What an answer takes longer that a job is there already when the state file holds so many records of other jobs. */
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

/** How long runs take whose jobs all exist, in milliseconds: `ours` of 3,000 jobs, `theirs` of 300. */
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

export const rows = [
  {
    name: 'a duplicate job with 100,000 records in the state file, longer than with none',
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
