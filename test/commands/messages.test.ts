import { expect, test } from 'vitest';
import { run } from '../support/run.ts';
import { service, write } from '../support/service.ts';

test('the limit is reported if a service does not respond within --timeout', async () => {
  const it = await service();
  await it.faults({ kind: 'stall' });
  const ran = await run(['spaces', 'list', '--timeout', '1s'], { env: it.env });
  expect(ran).toMatchObject({ code: 8, stdout: '' });
  expect(ran.stderr).toContain('error: No response within 1s (--timeout).\n');
  expect(ran.stderr).toContain('hint: Allow more time with --timeout.\n');
});

test('a value of the wrong type is shown with the expected type', async () => {
  const it = await service();
  const file = write('acme.yaml', 'external_space_id: acme\nspace: { name: Acme }\nagents: hi\n');
  const ran = await run(['provision', file], { env: it.env });
  expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('"agents" must be a list, not "hi"') });
  expect(await it.received()).toEqual([]);
});

test('the hint for a message without quotes shows it with quotes, after the flags that the shell split off', async () => {
  const ran = await run(['chat', 'send', 'hi', 'there']);
  expect(ran).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Quote the message: partnerctl chat send … 'hi there'"),
  });
});

test('the hint for an id that the service names as unknown is to check the id, not the path', async () => {
  const it = await service();
  const ran = await run(['chat', 'tail', '--source', 'src_1', '--session', 's', '--no-follow'], { env: it.env });
  expect(ran.code).toBe(4);
  expect(ran.stderr).toContain('error: The service does not know this source (404).\n');
  expect(ran.stderr).toContain(
    `hint: Check the id, and that it belongs to this service: ${it.env.PARTNER_BASE_URL}.\n`,
  );
  expect(ran.stderr).not.toContain('contract set');
});
