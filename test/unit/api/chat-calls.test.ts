import { describe, expect, it } from 'vitest';
import { postMessage } from '../../../src/api/calls.ts';
import { HistoryReader } from '../../../src/api/history.ts';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import { RateLimitError, ServiceError } from '../../../src/errors.ts';
import { json, neverAnswer, reset, type Step, sendJson, startFakeService } from '../../support/fake-service.ts';
import { client } from './http-client.ts';

/** A fake service and a client for it. */
async function serverOf(...script: readonly Step[]) {
  const { requests, baseUrl } = await startFakeService(script);
  return { got: requests, http: client(baseUrl).http };
}

const message = { source_id: 'src', session_id: 's', text: 'Hi', external_message_id: 'ext-1' };

describe('sending a message', () => {
  it('retries with the same body after a reset and a 503, and reports the retry', async () => {
    const { got, http } = await serverOf(reset, json({}, 503), json({ message_id: 'm1', created: false }));
    expect(await postMessage(http, message)).toEqual({ message_id: 'm1', created: false, wasRetried: true });
    expect(got.map(({ method, path }) => `${method} ${path}`)).toEqual(
      Array(3).fill('POST /v1/integrations/api-chat/message/'),
    );
    for (const request of got) expect(request.json()).toEqual({ ...message, response_mode: 'accepted' });
  });

  it.each([
    [201, true],
    [200, undefined],
  ])('takes from status %i whether the message is new if the body does not say', async (status, created) => {
    const { http } = await serverOf(json({ message_id: 'm1' }, status));
    expect((await postMessage(http, message)).created).toBe(created);
  });
});

it('reading the history follows the links, and reports the delay that the service requests', async () => {
  const link = '/v1/integrations/api-chat/history/?page=2';
  const session_id = 'a b&c';
  const first = json({ results: [{ message_id: 'm1', session_id }], next: link }, 200, { 'retry-after': '3' });
  const { got, http } = await serverOf(first, json([{ id: 'm2', session_id }]));
  const pages: (string | number | boolean | undefined)[][] = [];
  const place = { source_id: 'src', session_id, after_message_id: 'm0' };
  const options = { now: Date.now, limits: () => ({}) };
  for await (const { messages, hasMore, requestedWaitMs } of new HistoryReader(http).readAfter(place, options)) {
    pages.push([...messages.map(({ message_id }) => message_id), hasMore, requestedWaitMs]);
  }
  expect(pages).toEqual([['m1', 'm2', false, 3000]]);
  expect(got.map(({ path }) => path)).toEqual([
    '/v1/integrations/api-chat/history/?source_id=src&session_id=a+b%26c&after_message_id=m0',
    `${link}&source_id=src&session_id=a+b%26c&after_message_id=m0`,
  ]);
});

describe('a call with its own limits', () => {
  it('is not retried with retries: 0', async () => {
    const { got, http } = await serverOf(json({}, 503));
    await expect(http.call(OPERATIONS.readHistory, { retries: 0 })).rejects.toThrow(ServiceError);
    expect(got).toHaveLength(1);
  });

  it('ends after its own time limit', async () => {
    const { got, http } = await serverOf(neverAnswer);
    // Long enough that the request is sent on a busy machine.
    const limits = { timeoutMs: 2_000, retries: 0 };
    await expect(http.call(OPERATIONS.readHistory, limits)).rejects.toThrow(ServiceError);
    expect(got).toHaveLength(1);
  });

  it('does not wait for a 429 beyond its time limit', async () => {
    const { http } = await serverOf(json({}, 429, { 'retry-after': '600' }));
    await expect(http.call(OPERATIONS.readHistory, { timeoutMs: 60_000 })).rejects.toThrow(RateLimitError);
  });

  it('ends with the reason of its own signal: during a request, between retries, and before it starts', async () => {
    const reason = new Error('enough');
    const requesting = new AbortController();
    const hanging = await serverOf(() => requesting.abort(reason));
    await expect(hanging.http.call(OPERATIONS.readHistory, { signal: requesting.signal })).rejects.toBe(reason);

    const waiting = new AbortController();
    const failing = await serverOf((_, response) => {
      sendJson(response, {}, 503);
      response.on('finish', () => waiting.abort(reason));
    });
    await expect(failing.http.call(OPERATIONS.readHistory, { signal: waiting.signal })).rejects.toBe(reason);
    expect(failing.got).toHaveLength(1);
    await expect(failing.http.call(OPERATIONS.readHistory, { signal: waiting.signal })).rejects.toBe(reason);
    expect(failing.got).toHaveLength(1);
  });
});
