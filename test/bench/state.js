import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { makeAgent } from './harness/agent.js';
import { withDirectory } from './harness/directory.js';
import { jobsFile } from './harness/jobs.js';
import { compare, time } from './harness/measure.js';
import { hasPostgres, startServer } from './harness/postgres.js';
import { PROGRAM, withSandbox } from './harness/sandbox.js';

const hasGit = spawnSync('git', ['--version']).status === 0;

/** The number of pushes of one run that creates that many jobs with the state on a git branch. */
function pushesOfJobs(count) {
  return withSandbox(({ env }) =>
    withDirectory(async (directory) => {
      const repository = join(directory, 'state.git');
      execFileSync('git', ['init', '--quiet', '--bare', repository]);
      const { agent } = await makeAgent(env);
      const args = await jobsFile(directory, agent, count, `git+file://${repository}#state`);
      await time(args, { ...env, XDG_CACHE_HOME: directory, XDG_STATE_HOME: directory, HOME: directory });
      const pushes = execFileSync('git', ['-C', repository, 'rev-list', '--count', 'state'], { encoding: 'utf8' });
      return { values: [Number(pushes)] };
    }),
  );
}

/** The time of a creation with the state in PostgreSQL, compared with the state in a file. */
function creationOnPostgres({ rounds }) {
  return withSandbox(({ env }) =>
    withDirectory(async (directory) => {
      const server = await startServer();
      try {
        const { agent } = await makeAgent(env);
        await time([PROGRAM, 'state', 'init', server.address], env);
        const create = (name, state) => (round) => {
          const job = ['--agent', agent, '--name', `${name} ${round}`, '--instructions', 'Sum up the day.'];
          return [PROGRAM, 'cron', 'create', ...job, '--schedule', '0 9 * * 1-5', '--state', state];
        };
        const [command, baseline] = [
          create('database', server.address),
          create('file', join(directory, 'state.jsonl')),
        ];
        return await compare({ command, baseline, rounds, env });
      } finally {
        await server.stop();
      }
    }),
  );
}

export const rows = [
  {
    name: 'a guarded creation with the state in PostgreSQL',
    beside: 'in a file',
    limit: 1.5,
    skip: () => (hasPostgres ? undefined : 'PostgreSQL is not installed'),
    measure: creationOnPostgres,
  },
  {
    name: 'pushes of 100 jobs of one run with the state in git',
    unit: 'pushes',
    limit: 3,
    skip: () => (hasGit ? undefined : 'git is not installed'),
    measure: () => pushesOfJobs(100),
  },
];
