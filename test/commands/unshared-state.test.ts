import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCronAgent } from '../support/cron.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

/* A state file that only this machine has. */

const WARNING =
  /^warning: There is no state file yet .* covers this machine alone\..*postgres:\/\/.*git\+ssh:\/\/.*cache.*help state$/gm;
const JOB = "name: daily, instructions: Go., schedule: '0 9 * * *'";

test('In CI, without a state file, every command that the state guards warns once that it covers this machine alone', async () => {
  const sandbox = await service();
  const { agent_id } = await createCronAgent(sandbox);
  const withJob = manifest('acme').replace('"Support"', `"Support", cron: [{ ${JOB} }]`);
  const env = { ...sandbox.env, CI: 'true', PARTNER_SANDBOX_URL: undefined };
  for (const args of [
    ['cron', 'create', '-f', write('jobs.yaml', `agent: ${agent_id}\njobs: [{ ${JOB} }]\n`)],
    ['provision', write('a.yaml', withJob)],
    ['upload', write('a.txt', 'a'), write('b.txt', 'b')],
  ]) {
    const state = join(tempDirectory(), 'state.jsonl');
    const warnings = async (...more: string[]) =>
      (await run([...args, '--state', state, ...more], { env })).stderr.match(WARNING);
    expect(await warnings('--dry-run')).toBeNull();
    expect(await warnings()).toHaveLength(1);
    expect(await warnings()).toBeNull();
  }
});

test('No command warns outside CI, without jobs, or with a shared state', async () => {
  const { env } = await service();
  const git = `git+file://${join(tempDirectory(), 'none.git')}#state`;
  const inCi = { ...env, CI: 'true', PARTNER_SANDBOX_URL: undefined };
  for (const ran of [
    await run(['upload', write('a.txt', 'a')], { env: { ...inCi, CI: undefined } }),
    await run(['provision', write('a.yaml', manifest('acme'))], { env: inCi }),
    await run(['upload', write('a.txt', 'a'), '--state', git], { env: inCi }),
  ]) {
    expect(ran.stderr).not.toContain('this machine alone');
  }
});
