import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCronAgent } from '../support/cron.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

/* A state file that only this machine has. */

const WARNING =
  /^warning: There is no state file yet .* covers this machine alone\..*postgres:\/\/.*git\+ssh:\/\/.*cache.*help state$/gm;
const JOB = "name: daily, instructions: Go., schedule: '0 9 * * *'";

test.each(['cron create', 'cron create -f', 'provision', 'upload'])(
  'In CI, without a state file, %s warns once that the guard covers this machine alone',
  async (command) => {
    const sandbox = await service();
    const cron = await createCronAgent(sandbox);
    const build: Readonly<Record<string, () => readonly string[]>> = {
      'cron create': () => cron.create('daily'),
      'cron create -f': () => [
        'cron',
        'create',
        '-f',
        write('jobs.yaml', `agent: ${cron.agent_id}\njobs: [{ ${JOB} }]\n`),
      ],
      provision: () => [
        'provision',
        write('a.yaml', manifest('acme').replace('"Support"', `"Support", cron: [{ ${JOB} }]`)),
      ],
      upload: () => ['upload', write('a.txt', 'a'), write('b.txt', 'b')],
    };
    const args = [...(build[command]?.() ?? []), '--state', join(tempDirectory(), 'state.jsonl')];
    const env = { ...sandbox.env, CI: 'true', PARTNER_SANDBOX_URL: undefined };
    const warnings = async (...more: string[]) => (await run([...args, ...more], { env })).stderr.match(WARNING);
    expect(await warnings('--dry-run')).toBeNull();
    expect(await warnings()).toHaveLength(1);
    expect(await warnings()).toBeNull();
  },
);

test('No command warns outside CI, without jobs, or with a shared state', async () => {
  const { env } = await service();
  const file = write('a.txt', 'a');
  const git = `git+file://${join(tempDirectory(), 'none.git')}#state`;
  const inCi = { ...env, CI: 'true', PARTNER_SANDBOX_URL: undefined };
  for (const ran of [
    await run(['upload', file], { env: { ...inCi, CI: undefined } }),
    await run(['provision', write('a.yaml', manifest('acme'))], { env: inCi }),
    await run(['upload', file, '--state', git], { env: inCi }),
  ]) {
    expect(ran.stderr).not.toContain('this machine alone');
  }
});
