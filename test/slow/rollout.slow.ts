import { expect, test } from 'vitest';
import { start } from '../support/program.ts';
import { manifest, service, write } from '../support/service.ts';

/* Provisioning many spaces on a service that fails in every way, and installs agents again on every POST. */

const AGENTS = ['Sales', 'Support'];
const NAMES = Array.from({ length: 200 }, (_, index) => `s${index + 1}`);

/** About a fifth of all requests fail, before or after they are processed. */
const RULES = [
  { kind: 'status', status: 503, rate: 0.04 },
  { kind: 'status', status: 503, stage: 'after', rate: 0.04 },
  { kind: 'status', status: 429, retry_after: 0.05, rate: 0.03 },
  { kind: 'reset', rate: 0.04 },
  { kind: 'reset', stage: 'after', rate: 0.04 },
  { kind: 'cut', rate: 0.03 },
  { kind: 'html', stage: 'after', rate: 0.02 },
];

test.each([1, 2, 3])('200 spaces are each provisioned once, and a repeat sends no POST (seed %i)', async (seed) => {
  const sandbox = await service();
  await sandbox.set({ agents_on_repeat: 'install' });
  expect((await sandbox.admin('PUT', '/faults', { rules: RULES, seed })).status).toBe(200);
  const path = write('all.yaml', NAMES.map((name) => manifest(name, AGENTS)).join('---\n'));
  // Of many hundred reads, one would fail four times in a row.
  const args = ['provision', path, '-o', 'json', '--concurrency', '20', '--retries', '8'];
  const provision = () => start(args, { env: sandbox.env });
  let ran = await provision();
  // A run whose first read fails at every attempt writes nothing, and is repeated.
  while (ran.exitCode === 8 && ran.stdout === '') ran = await provision();
  expect(ran).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(ran.stdout).summary).toMatchObject({ created: 200, failed: 0 });
  await sandbox.faults();
  const spaces = await sandbox.spaces();
  expect(spaces.map(({ external_space_id }) => external_space_id).toSorted()).toEqual(NAMES.toSorted());
  for (const { space_id } of spaces)
    expect((await sandbox.agents(space_id)).map(({ name }) => name).toSorted()).toEqual(AGENTS);
  await sandbox.forget();
  const again = await provision();
  expect(again).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(again.stdout).summary).toMatchObject({ unchanged: 200, created: 0, reused: 0 });
  expect(await sandbox.posts()).toEqual([]);
});
