import { beforeAll, expect, test } from 'vitest';
import { run } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

const POST = 'POST /automation/agent-templates/provision-space/';

// A test compiles the modules that it loads; that time must not count.
beforeAll(async () => {
  await Promise.all([import('../../src/cli/run.ts'), import('../../src/provision/apply.ts')]);
});

test.each([
  ['never responds to a write', { kind: 'stall', on: POST }],
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
