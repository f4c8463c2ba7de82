import { expect, test } from 'vitest';
import { holdRequests } from '../support/fake-service.ts';
import { start, until } from '../support/program.ts';
import { errorIn } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

const many = (count: number): string =>
  write('many.yaml', Array.from({ length: count }, (_, index) => manifest(`s${index}`)).join('---\n'));

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
  const noticed = until(child.stderr, /for the response; Ctrl-C again stops/);
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
