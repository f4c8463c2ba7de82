import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { postMessage, readHistoryAfter, setUpChatSource } from '../../src/api/chat.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { RateLimitError, ServiceError, ShapeError } from '../../src/errors.ts';
import { json, neverAnswer, reset, type Step, sendJson, startFakeService } from '../helpers/fake-service.ts';
import { withinLimit } from './client.ts';
import { followDeps } from './history-server.ts';

/** A service that answers in turn, the last answer again and again. */
async function serverOf(...script: readonly Step[]) {
  const { requests, baseUrl } = await startFakeService(script);
  return { got: requests, http: followDeps(baseUrl).http };
}

const message = { source_id: 'src', session_id: 's', text: 'Hi', external_message_id: 'ext-1' };

describe('sending a message', () => {
  it('sends the text unchanged and returns the acknowledgement', async () => {
    const text = `line\r\n\ttab "quote" \\ 👩‍👩‍👧 \u0000\u202e é e\u0301 \u2028${'x'.repeat(1024 * 1024)}`;
    const { got, http } = await serverOf(json({ message_id: 'm1', created: true }));
    expect(await postMessage(http, { ...message, text })).toEqual({
      message_id: 'm1',
      created: true,
      wasRetried: false,
    });
    expect(got).toHaveLength(1);
    expect(got[0]).toMatchObject({ method: 'POST', path: '/v1/integrations/api-chat/message/' });
    expect(JSON.parse(got[0]?.body ?? '')).toEqual({ ...message, text, response_mode: 'accepted' });
  });

  it('retries with the same body after a reset and a 503, and reports the retry', async () => {
    const { got, http } = await serverOf(reset, json({}, 503), json({ message_id: 'm1', created: false }));
    expect(await postMessage(http, message)).toEqual({ message_id: 'm1', created: false, wasRetried: true });
    expect(new Set(got.map(({ body }) => body)).size).toBe(1);
    expect(got).toHaveLength(3);
  });

  it.each([
    [201, true],
    [200, undefined],
  ])(
    'treats status %i as an answer to whether the message is new if the body does not say',
    async (status, created) => {
      const { http } = await serverOf(json({ message_id: 'm1' }, status));
      expect((await postMessage(http, message)).created).toBe(created);
    },
  );

  it('fails if the response has no message_id', async () => {
    const { http } = await serverOf(json({ ok: true }));
    await expect(postMessage(http, message)).rejects.toThrow(ShapeError);
  });
});

describe('setting up a source', () => {
  it('posts the fields to the agent and reads the source', async () => {
    const { got, http } = await serverOf(json({ source: { source_id: 'src', name: 'Chat' } }, 201));
    const fields = { name: 'Chat', reply_capable: true, routing_mode: 'agent_inbox' } as const;
    expect(await setUpChatSource(http, 'sp/1', 'a 1', fields)).toMatchObject({
      source_id: 'src',
      created: true,
      name: 'Chat',
    });
    expect(got[0]).toMatchObject({ method: 'POST', path: '/v1/automation/spaces/sp%2F1/agents/a%201/api-chat/' });
    expect(JSON.parse(got[0]?.body ?? '')).toEqual(fields);
  });

  it('retries after a failure', async () => {
    const { got, http } = await serverOf(reset, json({ source_id: 'src', created: false }));
    expect(await setUpChatSource(http, 'sp', 'a', {})).toMatchObject({ source_id: 'src', created: false });
    expect(got).toHaveLength(2);
  });
});

describe('reading the history', () => {
  async function pages(answers: readonly Step[], after?: string) {
    const { got, http } = await serverOf(...answers);
    const read: { ids: string[]; more: boolean; waitMs: number | undefined }[] = [];
    const place = { source_id: 'src', session_id: 'a b&c', after_message_id: after };
    for await (const { messages, hasMore: more, requestedWaitMs: waitMs } of readHistoryAfter(http, place, Date.now)) {
      read.push({ ids: messages.map(({ message_id }) => message_id), more, waitMs });
    }
    return { got, read };
  }

  it('reads all pages and reports the delay the service asks for', async () => {
    const link = '/v1/integrations/api-chat/history/?page=2';
    const { got, read } = await pages(
      [json({ results: [{ message_id: 'm1' }], next: link }, 200, { 'x-poll-interval': '3' }), json([{ id: 'm2' }])],
      'm0',
    );
    expect(read).toEqual([
      { ids: ['m1'], more: true, waitMs: 3000 },
      { ids: ['m2'], more: false, waitMs: undefined },
    ]);
    expect(got.map(({ path }) => path)).toEqual([
      '/v1/integrations/api-chat/history/?source_id=src&session_id=a+b%26c&after_message_id=m0',
      link,
    ]);
  });

  it('continues after the last message if the service announces more without a link, but not forever', async () => {
    const { got, read } = await pages([
      json({ results: [{ message_id: 'm1' }], has_more: true }),
      json({ results: [{ message_id: 'm2' }], has_more: true }),
      json({ results: [{ message_id: 'm2' }], has_more: true }),
    ]);
    expect(read.map(({ ids, more }) => [...ids, more])).toEqual([
      ['m1', true],
      ['m2', true],
      ['m2', false],
    ]);
    expect(got.map(({ query }) => query.get('after_message_id'))).toEqual([null, 'm1', 'm2']);
  });

  it('fails if the response holds no messages', async () => {
    await expect(pages([json({ results: [{ text: 'x' }] })])).rejects.toThrow(ShapeError);
    await expect(pages([json({ state: 'ok' })])).rejects.toThrow(ShapeError);
  });
});

describe('a call with limits of its own', () => {
  it('makes no retry with retries: 0', async () => {
    const { got, http } = await serverOf(json({}, 503));
    await expect(http.call(OPERATIONS.readHistory, { retries: 0 })).rejects.toThrow(ServiceError);
    expect(got).toHaveLength(1);
  });

  it('ends after its own time limit', async () => {
    const got = await withinLimit(async (timeoutMs) => {
      const { got, http } = await serverOf(neverAnswer);
      await expect(http.call(OPERATIONS.readHistory, { timeoutMs, retries: 0 })).rejects.toThrow(ServiceError);
      return got.length === 0 ? undefined : got;
    });
    expect(got).toHaveLength(1);
  });

  it('does not wait for a 429 beyond its time limit', async () => {
    const { http } = await serverOf(json({}, 429, { 'retry-after': '600' }));
    await expect(http.call(OPERATIONS.readHistory, { timeoutMs: 60_000 })).rejects.toThrow(RateLimitError);
  });

  it('ends with the reason of its own signal: during a request, between retries, and before it starts', async () => {
    const reason = new Error('enough');
    const under = new AbortController();
    const hanging = await serverOf(() => under.abort(reason));
    await expect(hanging.http.call(OPERATIONS.readHistory, { signal: under.signal })).rejects.toBe(reason);

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

  it('opens a new connection with freshConnection', async () => {
    const { got, http } = await serverOf(json([]));
    const connections = async (freshConnection: boolean): Promise<Set<Socket>> => {
      const before = got.length;
      for (let count = 0; count < 10; count += 1) await http.call(OPERATIONS.readHistory, { freshConnection });
      return new Set(got.slice(before).map(({ connection }) => connection));
    };
    const kept = await connections(false);
    expect(kept.size).toBeLessThan(10);
    const fresh = await connections(true);
    expect(fresh.size).toBe(10);
    for (const socket of fresh) expect(kept.has(socket)).toBe(false);
  });

  it('sends its query without undefined values', async () => {
    const { got, http } = await serverOf(json([]));
    await http.call(OPERATIONS.readHistory, { query: { a: 'x&y=z é', b: undefined, c: '' } });
    await http.call(OPERATIONS.readHistory, { query: { b: undefined } });
    expect(got.map(({ path }) => path)).toEqual([
      '/v1/integrations/api-chat/history/?a=x%26y%3Dz+%C3%A9&c=',
      '/v1/integrations/api-chat/history/',
    ]);
  });
});
