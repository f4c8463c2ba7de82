import { expect, test } from 'vitest';
import { runTests, type TestCase, type TestResult } from '../../../src/chat/run-tests.ts';
import { InterruptedError } from '../../../src/errors.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import { sendJson, startFakeService } from '../../support/fake-service.ts';
import { fastClock } from '../../support/run.ts';
import { client } from '../api/http-client.ts';

type Test = TestCase['test'];

/** Holds one conversation. @param onTarget called before it begins */
async function hold(baseUrl: string, clock: Clock, turns: Test['turns'], onTarget: (end: AbortController) => void) {
  const interrupt = new AbortController();
  const http = client(baseUrl).http;
  const context = {
    ...{ clock, random: Math.random, env: {}, flags: {} },
    signals: { interrupt: interrupt.signal },
    abortSignal: interrupt.signal,
    progress: { start: () => undefined, update: () => undefined },
    command: () => '',
    http: async () => http,
    stateLocation: async () => ({ path: '' }),
    redact: (text: string) => text,
    warn: async () => undefined,
  };
  const target = { source_id: 'src_1', external_space_id: null, space_id: null, agent_id: null, agent: null };
  const only: TestCase = {
    index: 0,
    test: { source: 'talk.yaml:1', name: 'talk', agent: undefined, turns },
    external_space_id: null,
    async findTarget() {
      onTarget(interrupt);
      return target;
    },
  };
  const results: TestResult[] = [];
  for await (const result of runTests(context, http, [only], { concurrency: 1, repeat: 1, pass: 1 }))
    results.push(result);
  return results;
}

test('A conversation that was interrupted before it was held has not passed', async () => {
  const results = await hold('http://127.0.0.1:9/v1', fastClock(), [], (end) =>
    end.abort(new InterruptedError('Interrupted.')),
  );
  expect(results).toMatchObject([{ status: 'error', runs: 0, passed: 0, isUnfinished: true }]);
});

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
  expect(await hold(baseUrl, late, [turn], () => undefined)).toMatchObject([{ status: 'passed', passed: 1 }]);
});
