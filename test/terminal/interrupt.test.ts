import { expect, test } from 'vitest';
import { holdRequests } from '../support/fake-service.ts';
import { start, until } from '../support/program.ts';
import { errorIn, run } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

const many = (count: number): string =>
  write('many.yaml', Array.from({ length: count }, (_, index) => manifest(`s${index}`)).join('---\n'));

interface Output {
  results: { external_space_id: string; space_id: string | null; status: string }[];
  summary: Record<string, number>;
}

test('Ctrl-C during a run exits with 130 and a correct summary, and a repeat does the rest', async () => {
  const sandbox = await service();
  // The fourth write waits until the signal is sent.
  let writes = 0;
  const { env, held, release } = await holdRequests(sandbox, ({ method }) => {
    if (method === 'POST') writes += 1;
    return writes > 3;
  });
  const path = many(12);
  const child = start(['provision', path, '--concurrency', '1', '-o', 'json', '-v'], { env });
  const noticed = until(child.stderr, /at most for the response/);
  await held();
  child.kill('SIGINT');
  await noticed;
  release();
  const ran = await child;
  expect(ran.exitCode).toBe(130);
  const { results, summary }: Output = JSON.parse(ran.stdout);
  expect(results).toHaveLength(12);
  // The write in flight completed, and nothing was started after it.
  expect(summary).toMatchObject({ created: 4, skipped: 8, failed: 0 });
  const there = new Map((await sandbox.spaces()).map((space) => [space.external_space_id, space.space_id]));
  expect(
    new Map(results.flatMap((each) => (each.space_id === null ? [] : [[each.external_space_id, each.space_id]]))),
  ).toEqual(there);
  expect(errorIn(ran.stderr)).toMatchObject({
    type: 'interrupted',
    message: expect.stringContaining('4 spaces, 4 agents created; 8 spaces skipped'),
  });

  const again = await run(['provision', path, '-o', 'json'], { env });
  expect(again.code).toBe(0);
  expect(JSON.parse(again.stdout).summary).toMatchObject({ created: 8, unchanged: 4 });
});

test('A second Ctrl-C exits immediately', async () => {
  const sandbox = await service();
  const { env, held } = await holdRequests(sandbox, ({ method }) => method === 'POST');
  const child = start(['provision', many(1), '-v', '-o', 'json'], { env });
  await held();
  child.kill('SIGINT');
  // The system may merge two pending signals, so repeat until the second one is delivered.
  const repeat = setInterval(() => child.kill('SIGINT'), 20);
  const ran = await child;
  clearInterval(repeat);
  // A run that ended normally would have printed its result.
  expect(ran).toMatchObject({ exitCode: 130, stdout: '' });
});

test('A second SIGHUP, which a shell sends in addition to the system, does not end the wait for the response', async () => {
  const sandbox = await service();
  const { env, held, release } = await holdRequests(sandbox, ({ method }) => method === 'POST');
  const child = start(['provision', many(2), '--concurrency', '1', '-v', '-o', 'json'], { env });
  await held();
  const noticed = until(child.stderr, /at most for the response/);
  child.kill('SIGHUP');
  await noticed;
  child.kill('SIGHUP');
  release();
  const ran = await child;
  expect(ran.exitCode).toBe(129);
  expect(JSON.parse(ran.stdout).summary).toMatchObject({ created: 1, skipped: 1 });
});

test('Ctrl-C ends the wait for a retry', async () => {
  const sandbox = await service();
  await sandbox.faults({ kind: 'status', status: 503, retry_after: 60 });
  const child = start(['spaces', 'list', '-v', '-o', 'json'], { env: sandbox.env });
  await until(child.stderr, /waiting 60/);
  child.kill('SIGINT');
  const ran = await child;
  expect(ran).toMatchObject({ exitCode: 130, stdout: '' });
  expect(errorIn(ran.stderr).type).toBe('interrupted');
});
