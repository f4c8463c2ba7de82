import { describe, expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/index.ts';
import { type Chat, createChat, type HistoryEntry, MESSAGE, type RoutingMode } from '../support/chat.ts';
import { SPACES, startTestSandbox, type TestSandbox } from '../support/service.ts';

const START = Date.UTC(2026, 0, 1);

/** A sandbox whose clock stands still until it is moved, so that no agent replies before. */
async function withChat(mode?: RoutingMode, options: SandboxOptions = {}) {
  const on = await startTestSandbox({ now: () => START, ...options });
  await on.admin('PATCH', '/clock', { frozen: true });
  const advance = async (by: string): Promise<void> => {
    expect((await on.admin('PATCH', '/clock', { advance: by })).status).toBe(200);
  };
  return { ...on, advance, chat: await createChat(on, mode) };
}

function add({ admin }: Pick<TestSandbox, 'admin'>, { source_id }: Chat, more: Record<string, unknown>) {
  return admin('POST', '/messages', { source_id, session_id: 's1', role: 'assistant', text: '{n}', ...more });
}

const texts = (entries: readonly HistoryEntry[]): string[] => entries.map(({ text }) => text);

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`);

describe('setting up a source', () => {
  test('creates it once, and then returns it unchanged', async () => {
    const on = await startTestSandbox();
    const { space_id, agent_id } = await createChat(on, 'agent_inbox', { auto_create_api_chat: false });
    const path = `${SPACES}${space_id}/agents/${agent_id}/api-chat/`;
    const first = await on.partner('POST', path, { body: { name: 'Web', reply_capable: false } });
    expect([first.status, first.json]).toEqual([
      201,
      expect.objectContaining({ agent_id, space_id, name: 'Web', reply_capable: false, created: true }),
    ]);
    const again = await on.partner('POST', path, { body: { name: 'Other', routing_mode: 'session_workflow' } });
    expect([again.status, again.json]).toEqual([200, { ...first.json, created: false }]);
    expect((await on.partner('POST', path.replace(agent_id, 'agt_none'), { body: {} })).status).toBe(404);
    expect((await on.partner('POST', path, { body: { routing_mode: 'fast' } })).status).toBe(422);
  });
});

describe('a message', () => {
  test('is acknowledged at once, and is in the history', async () => {
    const { chat } = await withChat();
    const { status, json } = await chat.send('Hello', { external_message_id: 'e-1', response_mode: 'accepted' });
    expect([status, json]).toEqual([201, { message_id: expect.stringMatching(/^msg_/), created: true }]);
    expect(await chat.history()).toEqual([
      {
        message_id: json.message_id,
        source_id: chat.source_id,
        session_id: 's1',
        role: 'user',
        text: 'Hello',
        external_message_id: 'e-1',
        in_reply_to: null,
        created_at: '2026-01-01T00:00:00.000Z',
      },
    ]);
  });

  test('again with the same external id is the first one, even fifty times at once; in another session it is new', async () => {
    const { chat } = await withChat();
    const send = () => chat.send('Hello', { external_message_id: 'e-1' });
    const sent = await Promise.all(Array.from({ length: 50 }, send));
    expect(sent.filter(({ status, json }) => status === 201 && json.created)).toHaveLength(1);
    expect(new Set(sent.map(({ json }) => json.message_id)).size).toBe(1);
    expect((await chat.send('Other', { external_message_id: 'e-1' })).json.created).toBe(false);
    expect(texts(await chat.history())).toEqual(['Hello']);
    expect((await chat.send('Hi', { external_message_id: 'e-1', session_id: 's2' })).json.created).toBe(true);
  });

  test.each([
    [{}, 422],
    [{ text: '' }, 422],
    [{ session_id: ' ' }, 422],
    [{ session_id: '\ud83d' }, 422],
    [{ response_mode: 'complete' }, 422],
    [{ source_id: 'src_none' }, 404],
  ])('with %j is refused with %i', async (more, status) => {
    const { chat, partner } = await withChat();
    const valid = { source_id: chat.source_id, session_id: 's1', text: 'Hi', external_message_id: 'e' };
    const body = Object.keys(more).length === 0 ? {} : { ...valid, ...more };
    expect((await partner('POST', MESSAGE, { body })).status).toBe(status);
    expect(await chat.history()).toEqual([]);
  });
});

describe('an agent', () => {
  test('echoes a message a moment later', async () => {
    const { chat, advance } = await withChat();
    const { json } = await chat.send('Hello');
    await advance('49ms');
    expect(await chat.history()).toHaveLength(1);
    await advance('1ms');
    expect((await chat.history())[1]).toMatchObject({
      role: 'assistant',
      text: 'You said: Hello',
      in_reply_to: json.message_id,
      created_at: '2026-01-01T00:00:00.050Z',
    });
  });

  test('follows the first rule of the script that matches, with its delays, groups, and silence', async () => {
    const script = [
      { pattern: 'order', agent: 'Other', replies: [{ text: 'Not me.' }] },
      {
        pattern: 'order (\\d+)',
        replies: [
          { text: '$1 of $&: $$', delay_ms: 1_000 },
          { text: 'Bye.', delay_ms: 500 },
        ],
      },
      { pattern: '^quiet$', fail: 'silent' as const },
    ];
    const { chat, advance } = await withChat('session_workflow', { script });
    await chat.send('quiet');
    await chat.send('Where is order 17?');
    await advance('1s');
    expect(texts(await chat.history())).toEqual(['quiet', 'Where is order 17?', '17 of order 17: $']);
    await advance('500ms');
    expect(texts(await chat.history()).at(-1)).toBe('Bye.');
  });

  test.each([
    ['session_workflow', ['a', 'b', 'c', 'You said: a', 'You said: b', 'You said: c']],
    ['agent_inbox', ['a', 'b', 'c', 'You said: a', 'You said: b\nc']],
  ] as const)(
    'with the routing mode %s takes messages one by one, or those that waited together',
    async (mode, expected) => {
      const { chat, advance } = await withChat(mode);
      for (const text of ['a', 'b', 'c']) await chat.send(text);
      await advance('1s');
      expect(texts(await chat.history())).toEqual(expected);
    },
  );
});

describe('the history', () => {
  test('has the messages after the cursor, in pages of the requested size', async () => {
    const { chat, admin } = await withChat();
    await add({ admin }, chat, { count: 7 });
    await admin('PATCH', '/settings', { page_size: 3 });
    const all = await chat.history();
    expect(texts(all)).toEqual(numbers(1, 7));
    for (const [index, { message_id }] of all.entries()) {
      expect(await chat.history({ after_message_id: message_id })).toEqual(all.slice(index + 1));
    }
    const { json } = await chat.page({ page_size: '2', after_message_id: all[2]?.message_id ?? '' });
    expect(texts(json.results)).toEqual(['4', '5']);
    expect(new URL(json.next).searchParams.get('page_size')).toBe('2');
  });

  test('of a session whose id needs escaping is found on every page; that of a session without messages is empty', async () => {
    const { chat, admin } = await withChat();
    const session_id = 'a b&c=d/é🙂?#%';
    await add({ admin }, chat, { session_id, count: 3 });
    expect(texts(await chat.history({ session_id, page_size: '1' }))).toEqual(['1', '2', '3']);
    expect((await chat.page()).json).toEqual({ next: null, previous: null, results: [] });
  });

  test('needs a known source, a session, and a cursor that is a message of the session', async () => {
    const { chat, admin } = await withChat();
    const { last_message_id } = (await add({ admin }, chat, { session_id: 's2' })).json;
    expect((await chat.page({ source_id: 'src_none' })).status).toBe(404);
    expect((await chat.page({ session_id: '' })).status).toBe(422);
    for (const after_message_id of ['msg_none', '', last_message_id]) {
      const { status, json } = await chat.page({ after_message_id });
      expect([status, json.error.code]).toEqual([422, 'unknown_cursor']);
      expect(json.error.fields).toEqual([{ path: 'after_message_id', message: 'is not a message of this session' }]);
    }
  });
});
