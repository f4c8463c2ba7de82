import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare, time } from './measure.js';
import { PROGRAM } from './sandbox.js';

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

/**
 * How long the answer takes that a job is there already, when the state file holds so many records of other jobs, against
 * one that holds those of the job alone.
 */
export async function duplicateAnswer(agent, env, records, rounds) {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-bench-'));
  try {
    const [few, many] = [join(directory, 'few.jsonl'), join(directory, 'many.jsonl')];
    const job = ['--agent', agent, '--name', 'Daily', '--instructions', 'Sum up the day.', '--schedule', '0 9 * * 1-5'];
    const words = (state) => [PROGRAM, 'cron', 'create', ...job, '--state', state];
    await time(words(few), env);
    const text = await readFile(few, 'utf8');
    await writeFile(many, `${otherJobs(text, records / 2)}\n${text}`);
    return await compare({ command: words(many), baseline: words(few), rounds, env, code: 5 });
  } finally {
    await rm(directory, { recursive: true });
  }
}
