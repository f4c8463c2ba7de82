import { expect, test } from 'vitest';
import { rehearse, space } from '../support/rehearse.ts';
import { PROVISION, provisionBody, service, write } from '../support/service.ts';

/* What ends before the first seed. Whole rehearsals take long: `slow/sandbox-rehearse` has them. */

test('A rehearsal ends before the first seed where provisioning fails even without faults', async () => {
  const { env, partner } = await service();
  await partner('POST', PROVISION, { body: provisionBody('acme') });
  const edited = write('acme.yaml', space('acme').replace('name: Support', 'name: Helpdesk'));
  const ran = await rehearse(edited, ['--seeds', '1', '-o', 'json'], { env });
  expect(ran).toMatchObject({ code: 10, stdout: '' });
  expect(ran.error()).toMatchObject({
    message: 'Provisioning fails even without faults.',
    details: { why: expect.stringMatching(/^provision exited with 5: .*Helpdesk/s) },
  });
});

test.each([
  ['a manifest', 'agents: []', [], /acme\.yaml:1:/],
  ['a setting', space('acme'), ['--settings', '{"rate_limt":1}'], /rate_limt/],
  ['a fault', space('acme'), ['--faults', '/nowhere.json'], /no such file/],
  ['standard input', '', ['-'], /cannot read standard input/],
  ['a number of seeds', space('acme'), ['--seeds', '0'], /from 1 to 10000/],
])('A rehearsal refuses %s that is not valid, and reads nothing from the service', async (_, text, args, message) => {
  const { env, received } = await service();
  const ran = await rehearse(write('acme.yaml', text), args, { env });
  expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
  expect(await received()).toEqual([]);
});
