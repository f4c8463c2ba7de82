import { expect, test } from 'vitest';
import { type Handler, json, type Script, startFakeService } from '../support/fake-service.ts';
import { fasterClock, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';

/* Lists in 200 responses that cannot be read: they may contain jobs, spaces, or agents, so nothing is created. */

const UNREADABLE: readonly (readonly [unknown, string])[] = [
  ['nothing', 'partnerctl contract set '],
  [{ status: 'ok' }, 'partnerctl contract set '],
  [[{ name: 'Daily', title: 'Daily' }], 'partnerctl contract set '],
  [{ total: 2, items: [] }, 'partnerctl contract set '],
  // An error of the service says nothing about the contract.
  [{ errors: [{ message: 'Away.' }], data: [] }, ''],
];

const CREATE = ['cron', 'create', '--agent', 'a1', '--name', 'Daily', '--instructions', 'Sum up.'];
const PROVISIONED = json({ space_id: 's1', agents: [{ agent_id: 'a1', name: 'Support' }] }, 201);

test.each<[string, readonly string[], (list: Handler) => Script]>([
  ['jobs', [...CREATE, '--schedule', '0 9 * * *'], (list) => ({ 'GET *': list, 'POST *': json({ id: 'c9' }, 201) })],
  ['spaces', ['provision'], (list) => ({ 'GET *': list, 'POST *': PROVISIONED })],
  [
    'agents',
    ['provision'],
    (list) => ({
      'GET /automation/spaces/': json([{ space_id: 's1', external_space_id: 'acme' }]),
      'GET *': list,
      'POST *': PROVISIONED,
    }),
  ],
])('nothing is created while the list of %s cannot be read, and null is an empty list', async (_, words, script) => {
  const argv = words[0] === 'provision' ? [...words, write('a.yaml', manifest('acme'))] : words;
  const service = await startFakeService(json([]));
  const create = (list: unknown) => {
    service.respond(script(json(list)));
    const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'a-token-of-a-test', HOME: tempDirectory() };
    return run([...argv, '-o', 'json'], { env, random: tinyRandom, clock: fasterClock(20) });
  };
  for (const [list, fix] of UNREADABLE) {
    const ran = await create(list);
    expect(ran.code, ran.stderr).toBe(8);
    expect(ran.error().hint ?? '').toContain(fix);
  }
  expect(service.posts()).toEqual([]);
  expect(await create(null)).toMatchObject({ code: 0, stderr: '' });
  expect(service.posts()).toHaveLength(1);
});
