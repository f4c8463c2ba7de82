import { describe, expect, test } from 'vitest';
import { type FakeService, type Handler, json, startFakeService } from '../support/fake-service.ts';
import { fasterClock, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';

/* Lists in 200 responses that cannot be read: they may contain jobs, spaces, or agents, so nothing is created. */

const raw =
  (status: number, body: string, type = 'application/json'): Handler =>
  (_, response) =>
    response.writeHead(status, { 'content-type': type }).end(body);

const UNREADABLE: readonly (readonly [string, Handler])[] = [
  ['a text', json('nothing')],
  ['an object without a list', json({ status: 'ok' })],
  ['an error next to an empty list', json({ errors: [{ message: 'Away.' }], data: [] })],
  ['an HTML page as JSON', raw(200, '<html><title>Sign in</title></html>')],
  ['a list of texts', json(['c1', 'c2'])],
  ['objects without ids', json([{ name: 'Daily', title: 'Daily' }])],
  ['objects without names', json([{ id: 'x1' }])],
  ['a map by id', json({ c1: { name: 'Daily' }, c2: { name: 'Weekly' } })],
  ['an empty list of two that are counted', json({ total: 2, items: [] })],
  ['two lists', json({ active: [{ id: 'c1', name: 'Daily' }], paused: [{ id: 'c2', name: 'Weekly' }] })],
];

const EMPTY: readonly (readonly [string, Handler])[] = [
  ['an empty list', json([])],
  ['null', json(null)],
  ['an empty list under items', json({ items: [], total: 0 })],
];

const CREATE = ['cron', 'create', '--agent', 'a1', '--name', 'Daily', '--instructions', 'Sum up.'];
const CREATE_DAILY = [...CREATE, '--schedule', '0 9 * * *', '-o', 'json'];
const at = ({ baseUrl }: FakeService) => ({
  env: { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test', HOME: tempDirectory() },
  random: tinyRandom,
  clock: fasterClock(20),
});
const PROVISIONED = json({ space_id: 's1', agents: [{ agent_id: 'a1', name: 'Support' }] }, 201);

const TARGETS: readonly (readonly [string, () => readonly string[], (list: Handler) => Record<string, Handler>])[] = [
  ['jobs', () => CREATE_DAILY, (list) => ({ 'GET *': list, 'POST *': json({ id: 'c9' }, 201) })],
  [
    'spaces',
    () => ['provision', write('a.yaml', manifest('acme')), '-o', 'json'],
    (list) => ({ 'GET *': list, 'POST *': PROVISIONED }),
  ],
  [
    'agents',
    () => ['provision', write('a.yaml', manifest('acme')), '-o', 'json'],
    (list) => ({
      'GET /automation/spaces/': json([{ space_id: 's1', external_space_id: 'acme' }]),
      'GET *': list,
      'POST *': PROVISIONED,
    }),
  ],
];

describe.each(TARGETS)('a list of %s', (_, argv, script) => {
  test.each(UNREADABLE)('that is %s is rejected, and nothing is created', async (name, list) => {
    const service = await startFakeService(script(list));
    const ran = await run(argv(), at(service));
    expect(service.posts()).toEqual([]);
    expect(ran.code).toBe(8);
    // A gateway's page, or an error of the service, says nothing about the contract; no path leads to the items of a map.
    if (!/HTML|error|map/.test(name)) expect(ran.error().hint).toContain('partnerctl contract set ');
  });

  test.each(EMPTY)('that is %s is read as empty', async (_name, list) => {
    const service = await startFakeService(script(list));
    const ran = await run(argv(), at(service));
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(service.posts()).toHaveLength(1);
  });
});
