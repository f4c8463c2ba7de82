import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { run, tempDirectory } from '../helpers/run.ts';
import { schedules } from '../helpers/scheduling.ts';
import { write } from '../helpers/service.ts';
import { bareRepository } from '../helpers/stores.ts';

/** A state on a branch, and how many pushes it has seen. */
async function branch() {
  const repository = bareRepository();
  const env = { HOME: tempDirectory(), PARTNER_STATE: `git+file://${repository}#state` };
  const count = () => execFileSync('git', ['-C', repository, 'rev-list', '--count', 'state'], { encoding: 'utf8' });
  return { env, pushes: () => Number(count()) };
}

test('the jobs of a file need at most 3 pushes', async () => {
  const [it, state] = [await schedules(), await branch()];
  const jobs = Array.from({ length: 100 }, (_, n) => `  - { name: job${n}, instructions: x, schedule: '0 9 * * *' }`);
  const file = write('jobs.yaml', `agent: ${it.agent}\njobs:\n${jobs.join('\n')}\n`);
  const ran = await run(['cron', 'create', '-f', file, '-o', 'json'], { env: { ...it.env, ...state.env } });
  expect(ran.code).toBe(0);
  expect(ran.stderr.match(/did not exist, and was created/g)).toHaveLength(1);
  expect(await it.jobs()).toHaveLength(100);
  expect(state.pushes()).toBeLessThanOrEqual(3);
}, 60_000);
