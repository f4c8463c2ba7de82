import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createGate, json, type Step, sendJson, startFakeService } from '../support/fake-service.ts';
import { type Ran, run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';
import { type Answer, provision, SUMMARY } from './provisioning.ts';

describe('a failure', () => {
  const many = (count: number): string =>
    write('many.yaml', Array.from({ length: count }, (_, index) => manifest(`s${index}`)).join('---\n'));
  const POST = 'POST /automation/agent-templates/provision-space/';

  test('of some documents does not affect the others, and each result has its error: exit 10', async () => {
    const it = await service();
    const bad = manifest('bad').replace('tmpl_support', 'tmpl_nowhere');
    const path = write('three.yaml', `${manifest('one')}---\n${bad}---\n${manifest('two')}`);
    const ran = await provision([path], it);
    expect(ran.code).toBe(10);
    const { results, summary } = ran.json<Answer>();
    expect(summary).toEqual({ ...SUMMARY, created: 2, failed: 1 });
    expect(results.map(({ status }) => status)).toEqual(['created', 'failed', 'created']);
    expect(results[1]).toMatchObject({
      external_space_id: 'bad',
      space_id: null,
      agents: [{ agent_id: null, name: 'Support', template_id: 'tmpl_nowhere', status: 'failed', source_id: null }],
      error: { type: 'refused', status: 422, code: 'invalid_input' },
    });
    expect(JSON.stringify(results[1]?.error)).toContain('tmpl_nowhere');
    expect(ran.error()).toMatchObject({ type: 'partial_failure', message: '1 of 3 documents failed.' });
    expect(await it.spaces()).toHaveLength(2);
  });

  test('of all documents ends with the error of the first one', async () => {
    const it = await service();
    await it.faults({ kind: 'status', status: 401, on: POST });
    const ran = await provision([many(3)], it);
    expect(ran.code).toBe(3);
    expect(ran.json<Answer>().summary).toEqual({ ...SUMMARY, failed: 3 });
    expect(ran.error()).toMatchObject({ type: 'credentials', status: 401 });
  });

  test('starts no further documents with --fail-fast', async () => {
    const it = await service();
    await it.faults({ kind: 'status', status: 422, on: POST, times: 1 });
    const ran = await provision([many(5), '--fail-fast', '--concurrency', '1'], it);
    expect(ran.code).toBe(1);
    expect(ran.json<Answer>().summary).toEqual({ ...SUMMARY, failed: 1, skipped: 4 });
    expect(await it.posts()).toHaveLength(1);
  });

  test('to record a space starts no further documents with --fail-fast', async () => {
    const it = await service();
    const directory = tempDirectory();
    const state = join(directory, 'state.jsonl');
    symlinkSync(join(directory, 'missing', 'state.jsonl'), state);
    const ran = await provision([many(3), '--fail-fast', '--state', state], it);
    expect(ran.code).toBe(1);
    expect(ran.json<Answer>().summary).toEqual({ ...SUMMARY, failed: 1, skipped: 2 });
    expect(await it.posts()).toHaveLength(1);
  });

  test('to install a further agent names it: the service counts the agents of the request', async () => {
    const it = await service();
    await provision([write('one.yaml', manifest('acme'))], it);
    const two = manifest('acme', ['Support', 'Other']).replace(/tmpl_support(?=, name: "Other")/, 'tmpl_nowhere');
    const ran = await provision([write('two.yaml', two)], it);
    expect(ran.code).toBe(1);
    expect(ran.error().message).toBe('The agent "Other" cannot be installed: The service refused the call (422).');
    expect(JSON.stringify(ran.error())).toContain('agents[0]');
  });

  test('with 402 stops the run and is never retried', async () => {
    const it = await service();
    await it.faults({ kind: 'status', status: 402, on: POST, skip: 2 });
    const ran = await provision([many(6), '--concurrency', '1'], it);
    expect(ran.code).toBe(6);
    expect(ran.json<Answer>().summary).toEqual({ ...SUMMARY, created: 2, failed: 1, skipped: 3 });
    expect(ran.error()).toMatchObject({ type: 'balance_too_low', status: 402, code: 'organization_balance_too_low' });
    expect(await it.posts()).toHaveLength(3);
  });

  const LOW_BALANCE = { code: 'organization_balance_too_low', message: 'Balance too low.' };
  const provisioned = (externalId: string) => ({
    space_id: `space_${externalId}`,
    external_space_id: externalId,
    agents: [{ agent_id: 'agt_1', name: 'Support', template_id: 'tmpl_support' }],
  });

  /** A service that answers the POST of `s0` after it has refused those of all others with 402. */
  async function refusingOthers(script: Readonly<Record<string, Step>> = {}) {
    const refused = createGate();
    const fake = await startFakeService({
      'GET *': json([]),
      [POST]: async (request, response) => {
        if (request.json().external_space_id === 's0') {
          await refused.pass();
          sendJson(response, provisioned('s0'), 201);
          return;
        }
        // Else the POST of `s0` could take the same connection, which then is not closed.
        await refused.arrived();
        sendJson(response, LOW_BALANCE, 402);
        await request.closed();
        refused.open();
      },
      ...script,
    });
    return { fake, env: { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'test-token' } };
  }

  const outcomes = (ran: Ran) => ran.json<Answer>().results.map(({ status, space_id }) => [status, space_id]);

  test('with 402 stops the run, but a document whose POST is under way is finished with its space', async () => {
    const { env } = await refusingOthers();
    const ran = await run(['provision', many(3), '--concurrency', '2', '-o', 'json'], { env });
    expect(ran.code).toBe(6);
    expect(outcomes(ran)).toEqual([
      ['created', 'space_s0'],
      ['failed', null],
      ['skipped', null],
    ]);
  });

  test('with 402 stops the run: a space whose POST was under way gets neither jobs nor chats', async () => {
    const { fake, env } = await refusingOthers({ 'POST *': json({}, 500) });
    const job = "{ name: daily, instructions: Sum up., schedule: '0 9 * * *', timezone: UTC }";
    const withAgent = (settings: string): string => {
      const first = manifest('s0').replace(/ \}\n$/, `, ${settings} }\n`);
      return write('two.yaml', `${first}---\n${manifest('s1')}`);
    };
    const path = withAgent(`cron: [${job}]`);
    const ran = await run(['provision', path, '--concurrency', '2', '-o', 'json'], { env });
    expect(ran.code).toBe(6);
    expect(ran.json<Answer & { results: { cron: unknown[] }[] }>().results[0]).toMatchObject({
      status: 'failed',
      space_id: 'space_s0',
      error: { type: 'balance_too_low' },
    });
    const chatted = await refusingOthers({ 'POST *': json({}, 500) });
    const chat = withAgent('chat: {}');
    const other = await run(['provision', chat, '--concurrency', '2', '-o', 'json'], { env: chatted.env });
    expect(other.code).toBe(6);
    expect(other.json<Answer>().results[0]).toMatchObject({
      status: 'failed',
      space_id: 'space_s0',
      error: { type: 'balance_too_low', status: 402 },
    });
    for (const { requests } of [fake, chatted.fake]) {
      expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
    }
  });

  test.each([
    ['a 401', { kind: 'status', status: 401 }, 3],
    ['a response that is not JSON', { kind: 'garbage' }, 8],
  ])('with a lost response is an unknown outcome if every read then fails with %s', async (_, fault, code) => {
    const it = await service();
    await it.faults(
      { kind: 'reset', stage: 'after', on: POST, times: 1 },
      { ...fault, on: 'GET /automation/spaces/', skip: 1 },
    );
    const ran = await provision([many(1)], it);
    expect(ran.code).toBe(code);
    expect(ran.error().hint).toContain('may or may not have been provisioned');
    expect(await it.posts()).toHaveLength(1);
  });
});
