import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { passOn, startFakeService } from '../support/fake-service.ts';
import { type Running, start } from '../support/program.ts';
import { propertyRuns } from '../support/properties.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, PROVISION, service, write } from '../support/service.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';

/* A plan that is applied in waves, and the question before many new spaces. */

const idsOf = (count: number) => Array.from({ length: count }, (_, index) => `c-${String(index + 1).padStart(3, '0')}`);

const fleetOf = (ids: readonly string[]) => write('fleet.yaml', ids.map((id) => manifest(id)).join('---\n'));

/** The spaces, those of the second wave, and the one at which it is killed. */
const [COUNT, SECOND, KILLED] = [propertyRuns(60, 18), propertyRuns(50, 10), propertyRuns(20, 9)];

test(`Waves of 5, of ${SECOND}, and of all, the second of which is killed and repeated, provision each space once, in order`, async () => {
  const it = await service();
  const ids = idsOf(COUNT);
  let child: Running | undefined;
  const received: string[] = [];
  const proxy = await startFakeService(async (request, response) => {
    const passed = await passOn(request, it.sandbox.baseUrl);
    if (request.path.includes(PROVISION)) {
      received.push(request.json<{ external_space_id: string }>().external_space_id);
      // The service has carried it out, and nobody hears of it.
      if (received.length === KILLED) return void child?.kill('SIGKILL');
    }
    response.writeHead(passed.status, { 'content-type': 'application/json' }).end(passed.text);
  });
  const env = { ...it.env, PARTNER_BASE_URL: proxy.baseUrl };
  const out = join(tempDirectory(), 'plan.json');
  expect((await run(['plan', fleetOf(ids), '--out', out], { env })).code).toBe(0);
  const query = ['--concurrency', '1', '--query', 'results[].external_space_id'];
  const wave = async (...limit: string[]) => {
    const { code, stdout } = await run(['apply', out, ...limit, ...query], { env });
    return { code, ids: stdout.split('\n').filter(Boolean) };
  };
  expect(await wave('--limit', '5')).toEqual({ code: 0, ids: ids.slice(0, 5) });
  child = start(['apply', out, '--limit', `${SECOND}`, ...query], { env });
  expect(await child).toMatchObject({ signal: 'SIGKILL', stdout: '' });
  const end = 5 + SECOND;
  expect(await wave('--limit', `${end - KILLED}`)).toEqual({ code: 0, ids: ids.slice(KILLED, end) });
  expect((await wave()).code).toBe(0);
  expect(received).toEqual(ids);
  for (const { space_id } of await it.spaces()) expect(await it.agents(space_id)).toHaveLength(1);
});

describe.skipIf(!hasTmux)('more than 20 new spaces', () => {
  test('are counted and asked about in a terminal, unless --yes is given; nothing is sent without consent', async () => {
    const it = await service();
    const path = fleetOf(idsOf(21));
    const screen = await inTmux(['provision', path], it.env);
    await screen.screen(/Plan: 21 spaces, 21 agents to create\. Go on\? \(y\/N\)/);
    await screen.keys('n', 'Enter');
    expect(await screen.screen(/ended with 2/)).toContain('To answer in advance, add --yes.');
    expect(await it.posts()).toEqual([]);
    const consented = await inTmux(['provision', path, '--yes'], it.env);
    await consented.screen(/ended with 0/);
    expect(await it.posts()).toHaveLength(21);
    // No terminal, no question.
    expect((await run(['provision', path], { env: (await service()).env })).code).toBe(0);
  });
});
