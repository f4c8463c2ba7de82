import { expect, test } from 'vitest';
import { HISTORY } from '../support/chat.ts';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';

const ENTRIES = [
  { id: 'm1', session_id: 't-1', role: 'user', text: 'Hello', created_at: '2026-01-01T00:00:01Z' },
  { id: 'm2', session_id: 't-2', role: 'user', text: 'CONFIDENTIAL', created_at: '2026-01-01T00:00:02Z' },
  { id: 'm3', session_id: 't-1', role: 'assistant', text: 'Hi', created_at: '2026-01-01T00:00:03Z' },
];

/**
 * Checks the contract with a history that filters by one query parameter, and ignores any other.
 * @returns the exit code, and what is said of the session
 */
async function check(parameter: string, isNamed = false, unknown: [number, object?] = [200]) {
  const service = await startFakeService({
    [`GET ${HISTORY}`]: ({ query }, response) => {
      const wanted = query.get(parameter);
      const own = ENTRIES.filter(({ session_id }) => wanted === null || wanted === session_id);
      const results = own.map(({ session_id, ...entry }) => (isNamed ? { ...entry, session_id } : entry));
      const [status, body = { results }] = wanted === null || wanted === 't-1' ? [200] : unknown;
      sendJson(response, body, status);
    },
    'GET *': json([]),
  });
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'test-token', HOME: tempDirectory() };
  const ran = await run(['contract', 'check', '--source', 'src', '--session', 't-1', '-o', 'json'], { env });
  const checks = ran.json<{ leaf: string; result: string }[]>();
  return [ran.code, checks.find(({ leaf }) => leaf === 'messages.history.session_id')?.result];
}

test('contract check contradicts a history that ignores the session, confirms one that heeds it, and does not know of one that fails', async () => {
  expect(await check('sess')).toEqual([8, 'contradicted']);
  expect(await check('sess', true)).toEqual([8, 'contradicted']);
  expect(await check('session_id', false, [404, { code: 'unknown_session' }])).toEqual([0, 'confirmed']);
  expect(await check('session_id', false, [500, {}])).toEqual([0, 'unobservable']);
});
