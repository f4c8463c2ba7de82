import { join } from 'node:path';
import { cpuTime, PROGRAM, ratio, withService } from './measure.js';

/** What one call costs beside a bare start of Node, in time of the processor. */

const JOB = { agent_id: 'agt_eb23a729dee0681f5559', name: 'Daily', instructions: 'Another text.' };
const SCHEDULE = { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '*' }, timezone: 'UTC' };
const CREATE = ['cron', 'create', '--agent', JOB.agent_id, '--name', JOB.name, '--instructions', 'Sum up the day.'];

/** @param args the arguments, given the home directory and the number of the round */
function row(what, limit, args, code = 0) {
  const measure = (rounds) =>
    withService({ spaces: 3, jobs: [{ cron_job_id: 'cron_1', ...JOB, schedule: SCHEDULE }] }, (env) =>
      ratio(
        rounds,
        (round) => cpuTime([process.execPath, PROGRAM, ...args(env.HOME, round)], env, code),
        () => cpuTime([process.execPath, '-e', '0'], env),
      ),
    );
  return { name: `start-up of ${what}, beside node -e 0 (CPU)`, limit, measure };
}

/** Each round has a new state, in which the job of the service must be recorded. */
const create = (home, round) => [...CREATE, '--schedule', '0 9 * * *', '--state', join(home, `${round}.jsonl`)];

export const rows = [
  row('--version', 2, () => ['--version']),
  row('spaces list', 5.5, () => ['spaces', 'list', '-o', 'json']),
  row('a blocked cron create', 7.5, create, 5),
  row('a completion', 3, () => ['completion', 'zsh', '--', '', 'chat', 'send']),
];
