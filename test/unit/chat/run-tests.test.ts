import { expect, test } from 'vitest';
import { runTests, type TestCase, type TestResult } from '../../../src/chat/run-tests.ts';
import { InterruptedError } from '../../../src/errors.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { client } from '../api/http-client.ts';

test('A conversation that was interrupted before it was held has not passed', async () => {
  const interrupt = new AbortController();
  const http = client('http://127.0.0.1:9/v1').http;
  const context = {
    ...{ clock: systemClock, random: Math.random, env: {}, flags: {} },
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
    test: { source: 'talk.yaml:1', name: 'talk', agent: undefined, turns: [] },
    external_space_id: null,
    async findTarget() {
      interrupt.abort(new InterruptedError('Interrupted.'));
      return target;
    },
  };
  const results: TestResult[] = [];
  for await (const result of runTests(context, http, [only], { concurrency: 1, repeat: 1, pass: 1 }))
    results.push(result);
  expect(results).toMatchObject([{ status: 'error', runs: 0, passed: 0, isUnfinished: true }]);
});
