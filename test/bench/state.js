import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeAgent } from './chat.js';
import { median, time } from './measure.js';
import { PROGRAM } from './sandbox.js';

/** Whether git is installed. */
export const hasGit = spawnSync('git', ['--version']).status === 0;

/** Writes a file with so many jobs of an agent. @returns the command that creates those that do not exist */
async function jobsFile(directory, agent, count, state) {
  const jobs = Array.from({ length: count }, (_, n) => `  - { name: job${n}, instructions: x, schedule: '0 9 * * *' }`);
  const path = join(directory, `jobs-${count}.yaml`);
  await writeFile(path, `agent: ${agent}\njobs:\n${jobs.join('\n')}\n`);
  return [PROGRAM, 'cron', 'create', '-f', path, '--ensure', '-o', 'json', '--state', state];
}

async function withDirectory(measure) {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-bench-'));
  try {
    return await measure(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** How many pushes one run needs to create so many jobs with the state on a branch of git. */
export function pushesOfJobs(env, count) {
  return withDirectory(async (directory) => {
    const repository = join(directory, 'state.git');
    execFileSync('git', ['init', '--quiet', '--bare', repository]);
    const { agent } = await makeAgent(env);
    const words = await jobsFile(directory, agent, count, `git+file://${repository}#state`);
    const { ms } = await time(words, { ...env, XDG_CACHE_HOME: directory, XDG_STATE_HOME: directory, HOME: directory });
    const pushes = execFileSync('git', ['-C', repository, 'rev-list', '--count', 'state'], { encoding: 'utf8' });
    return { pushes: Number(pushes), ms };
  });
}

/** How long a run takes whose jobs all exist, in milliseconds: the median of each count. Counts are in ascending order. */
export function existingJobs(env, counts, rounds) {
  return withDirectory(async (directory) => {
    const { agent } = await makeAgent(env);
    const medians = [];
    for (const count of counts) {
      const words = await jobsFile(directory, agent, count, join(directory, 'state.jsonl'));
      await time(words, env);
      const times = [];
      for (let round = 0; round < rounds; round += 1) times.push((await time(words, env)).ms);
      medians.push(median(times));
    }
    return medians;
  });
}
