import { beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { run } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

const POST = 'POST /automation/agent-templates/provision-space/';

// A test compiles the modules that it loads; that time must not count.
beforeAll(async () => {
  await Promise.all([import('../../src/cli/run.ts'), import('../../src/provision/apply.ts')]);
});

test.each([
  ['never responds to a write', { kind: 'stall', on: POST }],
  ['never responds', { kind: 'stall' }],
  ['always fails', { kind: 'status', status: 503 }],
  ['resets every write', { kind: 'reset', on: POST }],
  ['asks to wait too long', { kind: 'status', status: 429, retry_after: 30 }],
])('--timeout ends a run against a service that %s', async (_, fault) => {
  const it = await service();
  await it.faults(fault);
  const path = write('two.yaml', `${manifest('a')}---\n${manifest('b')}`);
  const started = performance.now();
  const ran = await run(['provision', path, '--timeout', '600ms', '--retries', '20', '-o', 'json'], { env: it.env });
  expect(performance.now() - started).toBeLessThan(10_000);
  expect([7, 8]).toContain(ran.code);
  expect(ran.error().type).toMatch(/service|rate_limited/);
});

test('the error names --timeout, though the clock moves on while the deadline of the call is set', async () => {
  const it = await service();
  await it.faults({ kind: 'stall' });
  let reads = 0;
  const now = (): number => {
    reads += 1;
    return Date.now() + reads;
  };
  const ran = await run(['spaces', 'list', '--timeout', '600ms', '-o', 'json'], {
    env: it.env,
    clock: { ...systemClock, now },
  });
  expect(ran.error().message).toBe('No response within 600ms (--timeout).');
});

test('--timeout ends the wait for a token_command', async () => {
  const it = await service();
  // With exec, because a child of the shell would outlive it.
  const command = 'exec sleep 600';
  const args = ['login', '--base-url', it.sandbox.baseUrl, '--token-command', command, '--timeout', '300ms'];
  const ran = await run(args, { env: { HOME: it.env.HOME } });
  expect(ran.code).not.toBe(0);
});

test('an empty --state exits with 2, and nothing is sent', async () => {
  const it = await service();
  const ran = await run(['provision', write('a.yaml', manifest('a')), '--state', ''], { env: it.env });
  expect(ran.code).toBe(2);
  expect(await it.received()).toEqual([]);
});

test('provision accepts a manifest with a byte order mark and CRLF', async () => {
  const it = await service();
  const path = write('a.yaml', `\ufeff${manifest('a').replaceAll('\n', '\r\n')}`);
  const ran = await run(['provision', path], { env: it.env });
  expect(ran.code).toBe(0);
  expect(await it.spaces()).toMatchObject([{ external_space_id: 'a', name: 'Space a' }]);
});
