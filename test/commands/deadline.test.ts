import { expect, test } from 'vitest';
import { run } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

const POST = 'POST /automation/agent-templates/provision-space/';

test.each([
  ['never responds to a write', { kind: 'stall', on: POST }, 8],
  ['asks to wait too long', { kind: 'status', status: 429, retry_after: 30 }, 7],
])('--timeout ends a run against a service that %s', async (_, fault, code) => {
  const it = await service();
  await it.faults(fault);
  const path = write('two.yaml', `${manifest('a')}---\n${manifest('b')}`);
  const ran = await run(['provision', path, '--timeout', '2s', '--retries', '20', '-o', 'json'], { env: it.env });
  expect(ran.code, ran.stderr).toBe(code);
  expect(ran.error().type).toMatch(/service|rate_limited/);
});
