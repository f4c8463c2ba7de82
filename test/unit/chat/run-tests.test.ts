import { expect, test } from 'vitest';
import { runTests, type TestCase, type TestResult } from '../../../src/chat/run-tests.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import { sendJson, startFakeService } from '../../support/fake-service.ts';
import { fastClock, settingsContext } from '../../support/run.ts';
import { client } from '../api/http-client.ts';

type Test = TestCase['test'];

/** Holds one conversation. */
async function hold(baseUrl: string, clock: Clock, turns: Test['turns'], concurrency = 1) {
  const { signal } = new AbortController();
  const http = client(baseUrl).http;
  const context = {
    ...settingsContext(),
    ...{ clock, random: Math.random },
    signals: { interrupt: signal },
    abortSignal: signal,
    command: () => '',
    http: async () => http,
    warn: async () => undefined,
  };
  const only: TestCase = {
    index: 0,
    test: { source: 'talk.yaml:1', name: 'talk', agent: undefined, turns },
    target: { external_space_id: null, space_id: null, agent_id: null, agent: null },
    source: 'src_1',
  };
  const results: TestResult[] = [];
  for await (const result of runTests(context, http, [only], { concurrency, repeat: 1, pass: 1 })) results.push(result);
  return results;
}

test('A reply that comes in time counts, although the time is up before another look', async () => {
  const clock = fastClock();
  let ahead = 0;
  let isAnswered = false;
  const { baseUrl } = await startFakeService(({ method, query }, response) => {
    if (method === 'POST') return sendJson(response, { message_id: 'm1', created: true }, 201);
    if (!query.get('session_id')?.startsWith('test-')) return sendJson(response, { results: [], next: null });
    isAnswered = true;
    const reply = {
      message_id: 'm2',
      role: 'assistant',
      text: 'Hello!',
      created_at: new Date(clock.now()).toISOString(),
    };
    return sendJson(response, { results: [reply], next: null });
  });
  const late: Clock = {
    ...clock,
    now: () => clock.now() + ahead,
    sleep(ms, signal) {
      if (isAnswered) ahead = 2_000;
      return clock.sleep(ms, signal);
    },
  };
  const turn = { say: 'Hi.', withinMs: 2_000, replies: 1, expectations: [], source: 'talk.yaml:2' };
  expect(await hold(baseUrl, late, [turn])).toMatchObject([{ status: 'passed', passed: 1 }]);
});

/** An agent that replies after a time. @returns the clock, and how long its conversation took, in seconds */
async function holdWithAgent(agentMs: number, concurrency: number) {
  const clock = fastClock();
  let saidAt = 0;
  const { baseUrl } = await startFakeService(({ method, query }, response) => {
    if (method === 'POST') {
      saidAt = clock.now();
      return sendJson(response, { message_id: 'm1', created: true }, 201);
    }
    const isThere = query.get('session_id')?.startsWith('test-') && clock.now() >= saidAt + agentMs;
    const reply = { message_id: 'm2', role: 'assistant', text: 'Hello!', session_id: query.get('session_id') };
    return sendJson(response, { results: isThere ? [reply] : [], next: null });
  });
  const turn = { say: 'Hi.', withinMs: 60_000, replies: 1, expectations: [], source: 'talk.yaml:2' };
  const [result] = await hold(baseUrl, clock, [turn], concurrency);
  expect(result?.status).toBe('passed');
  return { clock, seconds: result?.turns[0]?.seconds ?? 0 };
}

test('A conversation takes at most a fifth longer than its agent', async () => {
  const agents = Array.from({ length: 10 }, (_, index) => 2_000 + index * 37);
  const took = await Promise.all(agents.map((agentMs) => holdWithAgent(agentMs, 8)));
  const total = took.reduce((sum, { seconds }) => sum + seconds * 1_000, 0);
  expect(total).toBeLessThan(1.2 * agents.reduce((sum, agentMs) => sum + agentMs, 0));
});

test('Many conversations, together, ask at most a hundred times a second', async () => {
  const { clock } = await holdWithAgent(5_000, 64);
  expect(Math.min(...clock.slept)).toBeGreaterThanOrEqual(640 - 64);
});
