import { expect, test } from 'vitest';
import { CRON_JOBS } from '../support/cron.ts';
import { run, tinyRandom } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';
import { type Answer, provision, provisioned } from './provisioning.ts';

/* What `plan` and `provision` say of spaces that were refused, failed, or differ. */

const JOB = "{ name: daily, instructions: Look., schedule: '0 9 * * *' }";
const withJob = (id: string) => manifest(id).replace(/ }\n$/, `, cron: [${JOB}] }\n`);

/** What a terminal of 80 columns shows. */
const screen = (it: Pick<Service, 'env'>, ...argv: string[]) =>
  run([...argv, '--color', 'never'], { env: it.env, columns: 80, random: tinyRandom });

test('All failures of a space are in JSON, each with its place, and the first one is its error', async () => {
  const { it, path } = await provisioned(manifest('acme', ['One', 'Two']), (text) =>
    text.replace('One', 'Uno').replace('Two', 'Dos'),
  );
  const { results } = (await provision([path], it)).json<Answer>();
  const errors = [
    { source: `${path}:4`, type: 'duplicate', message: expect.stringContaining('"Uno"') },
    { source: `${path}:5`, type: 'duplicate', message: expect.stringContaining('"Dos"') },
  ];
  expect(results).toMatchObject([{ error: { message: errors[0]?.message }, errors }]);
  const planned = await run(['plan', path, '-o', 'json'], { env: it.env });
  expect(planned.json()).toMatchObject({ spaces: [{ error: { message: errors[0]?.message }, errors }] });
});

test('A refused space is said to be blocked, and that nothing was sent for it, and its reason stands once', async () => {
  const { it, path } = await provisioned(manifest('acme'), (text) => text.replace('Support', 'Hilfe'));
  for (const command of ['provision', 'plan']) {
    const { code, stdout, stderr } = await screen(it, command, path);
    expect(code).toBe(5);
    expect(stdout).toMatch(command === 'plan' ? /^x acme /m : /^x acme .*\n?.* blocked: nothing was sent$/m);
    expect(stdout).toContain('1 space blocked');
    const said = `${stdout}${stderr}`.replaceAll(/\s+/g, ' ');
    expect(said.split('"Hilfe" is missing')).toHaveLength(2);
    expect(said.split('To install a second agent, add --create-beside acme')).toHaveLength(2);
  }
  // In a pipe, each of the two is read on its own.
  const piped = await run(['provision', path], { env: it.env });
  expect(piped.stdout).toContain('"Hilfe" is missing');
  expect(piped.stderr).toContain('"Hilfe" is missing');
  expect(await it.posts()).toEqual([]);
});

test('Each space counts once, whether it failed after it was created, or was completed by a repeat', async () => {
  const it = await service();
  const path = write('two.yaml', `${withJob('one')}---\n${withJob('two')}---\n${manifest('three')}`);
  await it.faults({ kind: 'status', on: `POST ${CRON_JOBS}`, status: 422, times: 2 });
  const failed = await screen(it, 'provision', path);
  expect(failed.code).toBe(10);
  expect(failed.stdout).toMatch(/^Done: 1 space, 3 agents created; 2 spaces failed\.$/m);
  expect((await screen(it, 'plan', path)).stdout).toMatch(
    /^Plan: 2 jobs to create; 2 spaces to change; 1 space unchanged\.$/m,
  );
  expect((await screen(it, 'provision', path)).stdout).toMatch(
    /^Done: 2 jobs created; 2 spaces changed; 1 space unchanged\.$/m,
  );
});
