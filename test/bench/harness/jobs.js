import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROGRAM } from './sandbox.js';

/** A document may have 250,000 tokens. */
const JOBS_PER_DOCUMENT = 5_000;

/** Writes a file with that many jobs of an agent. @returns the command that creates those that do not exist */
export async function jobsFile(directory, agent, count, state) {
  const jobs = Array.from({ length: count }, (_, n) => `  - { name: job${n}, instructions: x, schedule: '0 9 * * *' }`);
  const documents = [];
  while (jobs.length > 0) {
    documents.push(`agent: ${agent}\njobs:\n${jobs.splice(0, JOBS_PER_DOCUMENT).join('\n')}\n`);
  }
  const path = join(directory, `jobs-${count}.yaml`);
  await writeFile(path, documents.join('---\n'));
  return [PROGRAM, 'cron', 'create', '-f', path, '--ensure', '-o', 'json', '--state', state];
}
