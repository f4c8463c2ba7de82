import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROGRAM } from './sandbox.js';

/** Writes a file with so many jobs of an agent. @returns the command that creates those that do not exist */
export async function jobsFile(directory, agent, count, state) {
  const jobs = Array.from({ length: count }, (_, n) => `  - { name: job${n}, instructions: x, schedule: '0 9 * * *' }`);
  const path = join(directory, `jobs-${count}.yaml`);
  await writeFile(path, `agent: ${agent}\njobs:\n${jobs.join('\n')}\n`);
  return [PROGRAM, 'cron', 'create', '-f', path, '--ensure', '-o', 'json', '--state', state];
}
