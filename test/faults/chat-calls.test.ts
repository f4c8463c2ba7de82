import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { postMessage, readHistoryAfter, setUpChatSource } from '../../src/api/chat.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { RateLimitError, ServiceError, ShapeError } from '../../src/errors.ts';
import { withinLimit } from './client.ts';
import { partsFor } from './history-server.ts';

interface Got {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly socket: Socket;
}

type Answer = (got: Got, response: ServerResponse, request: IncomingMessage) => void;

/** A server that answers the calls in turn, the last answer again and again. */
async function serverOf(...answers: readonly Answer[]) {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const one = { method: request.method ?? '', url: request.url ?? '', body, socket: request.socket };
      got.push(one);
      answers[Math.min(got.length, answers.length) - 1]?.(one, response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const { http } = partsFor(`http://127.0.0.1:${port}/v1`);
  return { got, http };
}

function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const reset: Answer = (_, __, request) => request.socket.destroy();
const never: Answer = () => undefined;
const message = { source_id: 'src', session_id: 's', text: 'Hi', external_message_id: 'ext-1' };

describe('sending a message', () => {
  it('sends the text as it is, and says what the service says', async () => {
    const text = `line\r\n\ttab "quote" \\ 👩‍👩‍👧 \u0000\u202e é e\u0301 \u2028${'x'.repeat(1024 * 1024)}`;
    const { got, http } = await serverOf(json(200, { message_id: 'm1', created: true }));
    expect(await postMessage(http, { ...message, text })).toEqual({
      message_id: 'm1',
      created: true,
      wasRetried: false,
    });
    expect(got).toHaveLength(1);
    expect(got[0]).toMatchObject({ method: 'POST', url: '/v1/integrations/api-chat/message/' });
    expect(JSON.parse(got[0]?.body ?? '')).toEqual({ ...message, text, response_mode: 'accepted' });
  });

  it('repeats it word for word after a reset and a 503, and says that it did', async () => {
    const { got, http } = await serverOf(reset, json(503, {}), json(200, { message_id: 'm1', created: false }));
    expect(await postMessage(http, message)).toEqual({ message_id: 'm1', created: false, wasRetried: true });
    expect(new Set(got.map(({ body }) => body)).size).toBe(1);
    expect(got).toHaveLength(3);
  });

  it.each([
    [201, true],
    [200, undefined],
  ])('takes %i as a word about what is new where the service has no other', async (status, created) => {
    const { http } = await serverOf(json(status, { message_id: 'm1' }));
    expect((await postMessage(http, message)).created).toBe(created);
  });

  it('is an error where the answer names no message', async () => {
    const { http } = await serverOf(json(200, { ok: true }));
    await expect(postMessage(http, message)).rejects.toThrow(ShapeError);
  });
});

describe('setting up a source', () => {
  it('posts the fields to the agent and reads the source', async () => {
    const { got, http } = await serverOf(json(201, { source: { source_id: 'src', name: 'Chat' } }));
    const fields = { name: 'Chat', reply_capable: true, routing_mode: 'agent_inbox' } as const;
    expect(await setUpChatSource(http, 'sp/1', 'a 1', fields)).toMatchObject({
      source_id: 'src',
      created: true,
      name: 'Chat',
    });
    expect(got[0]).toMatchObject({ method: 'POST', url: '/v1/automation/spaces/sp%2F1/agents/a%201/api-chat/' });
    expect(JSON.parse(got[0]?.body ?? '')).toEqual(fields);
  });

  it('is repeated after a failure', async () => {
    const { got, http } = await serverOf(reset, json(200, { source_id: 'src', created: false }));
    expect(await setUpChatSource(http, 'sp', 'a', {})).toMatchObject({ source_id: 'src', created: false });
    expect(got).toHaveLength(2);
  });
});

describe('reading the history', () => {
  async function pages(answers: readonly Answer[], after?: string) {
    const { got, http } = await serverOf(...answers);
    const read: { ids: string[]; more: boolean; waitMs: number | undefined }[] = [];
    const place = { source_id: 'src', session_id: 'a b&c', after_message_id: after };
    for await (const { messages, hasMore: more, requestedWaitMs: waitMs } of readHistoryAfter(http, place, Date.now)) {
      read.push({ ids: messages.map(({ message_id }) => message_id), more, waitMs });
    }
    return { got, read };
  }

  it('goes through the pages, and says what the service asks to wait', async () => {
    const link = '/v1/integrations/api-chat/history/?page=2';
    const { got, read } = await pages(
      [
        json(200, { results: [{ message_id: 'm1' }], next: link }, { 'x-poll-interval': '3' }),
        json(200, [{ id: 'm2' }]),
      ],
      'm0',
    );
    expect(read).toEqual([
      { ids: ['m1'], more: true, waitMs: 3000 },
      { ids: ['m2'], more: false, waitMs: undefined },
    ]);
    expect(got.map(({ url }) => url)).toEqual([
      '/v1/integrations/api-chat/history/?source_id=src&session_id=a+b%26c&after_message_id=m0',
      link,
    ]);
  });

  it('goes on behind the last message where the service tells of more without a link, and not for ever', async () => {
    const { got, read } = await pages([
      json(200, { results: [{ message_id: 'm1' }], has_more: true }),
      json(200, { results: [{ message_id: 'm2' }], has_more: true }),
      json(200, { results: [{ message_id: 'm2' }], has_more: true }),
    ]);
    expect(read.map(({ ids, more }) => [...ids, more])).toEqual([
      ['m1', true],
      ['m2', true],
      ['m2', false],
    ]);
    expect(got.map(({ url }) => new URL(url, 'http://x').searchParams.get('after_message_id'))).toEqual([
      null,
      'm1',
      'm2',
    ]);
  });

  it('is an error for a history that holds no messages but something else', async () => {
    await expect(pages([json(200, { results: [{ text: 'x' }] })])).rejects.toThrow(ShapeError);
    await expect(pages([json(200, { state: 'ok' })])).rejects.toThrow(ShapeError);
  });
});

describe('a call with limits of its own', () => {
  it('is not repeated when it says so', async () => {
    const { got, http } = await serverOf(json(503, {}));
    await expect(http.call(OPERATIONS.readHistory, { retries: 0 })).rejects.toThrow(ServiceError);
    expect(got).toHaveLength(1);
  });

  it('ends after its own time', async () => {
    const got = await withinLimit(async (timeoutMs) => {
      const { got, http } = await serverOf(never);
      await expect(http.call(OPERATIONS.readHistory, { timeoutMs, retries: 0 })).rejects.toThrow(ServiceError);
      return got.length === 0 ? undefined : got;
    });
    expect(got).toHaveLength(1);
  });

  it('does not wait for a 429 longer than it may', async () => {
    const { http } = await serverOf(json(429, {}, { 'retry-after': '600' }));
    await expect(http.call(OPERATIONS.readHistory, { timeoutMs: 60_000 })).rejects.toThrow(RateLimitError);
  });

  it('ends with the reason of its own signal: under way, waiting, and before it began', async () => {
    const reason = new Error('enough');
    const under = new AbortController();
    const hanging = await serverOf(() => under.abort(reason));
    await expect(hanging.http.call(OPERATIONS.readHistory, { signal: under.signal })).rejects.toBe(reason);

    const waiting = new AbortController();
    const failing = await serverOf((got, response, request) => {
      json(503, {})(got, response, request);
      response.on('finish', () => waiting.abort(reason));
    });
    await expect(failing.http.call(OPERATIONS.readHistory, { signal: waiting.signal })).rejects.toBe(reason);
    expect(failing.got).toHaveLength(1);
    await expect(failing.http.call(OPERATIONS.readHistory, { signal: waiting.signal })).rejects.toBe(reason);
    expect(failing.got).toHaveLength(1);
  });

  it('uses a connection of its own when it says so', async () => {
    const { got, http } = await serverOf(json(200, []));
    const connections = async (freshConnection: boolean): Promise<Set<Socket>> => {
      const before = got.length;
      for (let count = 0; count < 10; count += 1) await http.call(OPERATIONS.readHistory, { freshConnection });
      return new Set(got.slice(before).map(({ socket }) => socket));
    };
    const kept = await connections(false);
    expect(kept.size).toBeLessThan(10);
    const fresh = await connections(true);
    expect(fresh.size).toBe(10);
    for (const socket of fresh) expect(kept.has(socket)).toBe(false);
  });

  it('carries its query, without what is undefined', async () => {
    const { got, http } = await serverOf(json(200, []));
    await http.call(OPERATIONS.readHistory, { query: { a: 'x&y=z é', b: undefined, c: '' } });
    await http.call(OPERATIONS.readHistory, { query: { b: undefined } });
    expect(got.map(({ url }) => url)).toEqual([
      '/v1/integrations/api-chat/history/?a=x%26y%3Dz+%C3%A9&c=',
      '/v1/integrations/api-chat/history/',
    ]);
  });
});
