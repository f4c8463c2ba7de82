import { expect, test } from 'vitest';
import { run } from '../support/run.ts';
import { service } from '../support/service.ts';

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
