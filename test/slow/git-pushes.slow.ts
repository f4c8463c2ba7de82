import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, tempDirectory } from '../support/run.ts';
import { schedules } from '../support/scheduling.ts';
import { manifest, service, write } from '../support/service.ts';
import { bareRepository } from '../support/stores.ts';
import { uploads } from '../support/uploads.ts';

/** A state on a branch, and the number of pushes to it. */
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

test('a failure that stops the run prevents the requests that were reserved with it', async () => {
  const [it, state] = [await schedules(), await branch()];
  const env = { ...it.env, ...state.env };
  await it.faults({ kind: 'status', status: 402, on: 'POST' });
  const jobs = Array.from({ length: 8 }, (_, n) => `  - { name: job${n}, instructions: x, schedule: '0 9 * * *' }`);
  const created = await run(
    ['cron', 'create', '-f', write('jobs.yaml', `agent: ${it.agent}\njobs:\n${jobs.join('\n')}\n`)],
    { env },
  );
  expect(created.code).toBe(6);
  expect((await it.posts()).length).toBeLessThanOrEqual(4);
  await it.forget();
  const spaces = Array.from({ length: 8 }, (_, n) => manifest(`acme-${n}`)).join('---\n');
  const provisioned = await run(['provision', write('spaces.yaml', spaces)], { env });
  expect(provisioned.code).toBe(6);
  expect((await it.posts()).length).toBeLessThanOrEqual(4);
  const open = await run(['state', 'show', '-o', 'json'], { env });
  const types = open.json<{ type: string }[]>().map(({ type }) => type);
  expect(types.filter((type) => type.endsWith('.reserved'))).toHaveLength(16);
  expect(types.filter((type) => type.endsWith('.released'))).toHaveLength(16);
}, 60_000);

/** What an agent of a manifest has in addition to its name. */
const TWO_JOBS = `, chat: {}, cron: [${['a', 'b'].map((name) => `{ name: ${name}, instructions: x, schedule: '0 9 * * *' }`)}] }`;

test('spaces with chats and jobs need few pushes, however many there are', async () => {
  const [it, state] = [await service(), await branch()];
  const documents = Array.from(
    { length: 30 },
    (_, n) => `${manifest(`acme-${n}`).trimEnd().replace(/ }$/, TWO_JOBS)}\n`,
  );
  const env = { ...it.env, ...state.env };
  const ran = await run(['provision', write('spaces.yaml', documents.join('---\n')), '-o', 'json'], { env });
  expect(ran.code, ran.stderr).toBe(0);
  expect(JSON.parse(ran.stdout).summary).toMatchObject({ created: 30, failed: 0 });
  expect((await it.posts()).filter(({ path }) => path.includes('cron'))).toHaveLength(60);
  expect(state.pushes()).toBeLessThanOrEqual(6);
}, 60_000);

test('uploads need few pushes, however many there are', async () => {
  const [it, state] = [await uploads(), await branch()];
  for (let n = 0; n < 60; n += 1) writeFileSync(join(it.directory, `f${n}.txt`), `content ${n}`);
  const args = [it.directory, '--recursive', '--state', state.env.PARTNER_STATE, '-o', 'json'];
  const ran = await it.upload(args, { env: state.env });
  expect(ran.code, ran.stderr).toBe(0);
  expect(await it.kept()).toHaveLength(60);
  expect(state.pushes()).toBeLessThanOrEqual(3);
}, 60_000);
