import { describe, expect, test } from 'vitest';
import { type Script, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Chat, createChat, type HistoryEntry, manualClock, type RoutingMode } from '../support/sandbox-chat.ts';
import { startTestSandbox } from '../support/sandbox-client.ts';

async function withAgent(script: Script = [], mode: RoutingMode = 'session_workflow') {
  const clock = manualClock();
  const on = await startTestSandbox({ ...clock, script });
  return { clock, ...on, chat: await createChat(on, mode) };
}

/** The messages of a conversation: `>` from the user, `<` from the agent. */
function conversation(entries: readonly HistoryEntry[]): string[] {
  return entries.map(({ role, text }) => `${role === 'user' ? '>' : '<'} ${text}`);
}

async function conversationOf(chat: Chat, session_id = 's1'): Promise<string[]> {
  return conversation(await chat.history({ session_id }));
}

describe('an agent without a script', () => {
  test('echoes a message once, 50 ms later', async () => {
    const { chat, clock } = await withAgent();
    const { json } = await chat.send('Hello', { external_message_id: 'e' });
    clock.advance(49);
    expect(await conversationOf(chat)).toEqual(['> Hello']);
    clock.advance(1);
    expect(await conversationOf(chat)).toEqual(['> Hello', '< You said: Hello']);
    expect((await chat.history())[1]).toMatchObject({
      role: 'assistant',
      in_reply_to: json.message_id,
      external_message_id: null,
      created_at: '2026-01-01T00:00:00.050Z',
    });
    await chat.send('Hello', { external_message_id: 'e' });
    clock.advance(10_000);
    expect(await chat.history()).toHaveLength(2);
  });

  test('does not reply on a source that is not reply_capable', async () => {
    const clock = manualClock();
    const on = await startTestSandbox(clock);
    const chat = await createChat(on, 'agent_inbox', { auto_create_api_chat: false });
    const path = `/automation/spaces/${chat.space_id}/agents/${chat.agent_id}/api-chat/`;
    const { source_id } = (await on.partner('POST', path, { body: { reply_capable: false } })).json;
    expect((await chat.send('Hello', { source_id })).status).toBe(201);
    clock.advance(100_000);
    expect(conversation(await chat.history({ source_id }))).toEqual(['> Hello']);
  });

  test('gives every message a later timestamp, even while the clock stands still', async () => {
    const { chat, clock } = await withAgent();
    for (const text of ['a', 'b', 'c']) await chat.send(text);
    clock.advance(50);
    const moments = (await chat.history()).map(({ created_at }) => created_at);
    expect(moments).toEqual([...new Set(moments)].toSorted());
    expect(moments).toHaveLength(6);
  });
});

describe('routing', () => {
  test('a session_workflow runs once for each message', async () => {
    const { chat, clock } = await withAgent([], 'session_workflow');
    for (const text of ['a', 'b', 'c']) {
      await chat.send(text);
      clock.advance(10);
    }
    clock.advance(100);
    const entries = await chat.history();
    expect(conversation(entries)).toEqual(['> a', '> b', '> c', '< You said: a', '< You said: b', '< You said: c']);
    expect(entries.slice(3).map(({ in_reply_to }) => in_reply_to)).toEqual(
      entries.slice(0, 3).map(({ message_id }) => message_id),
    );
  });

  test('an agent_inbox answers the messages that arrived while the agent was busy with one reply', async () => {
    const { chat, clock } = await withAgent([], 'agent_inbox');
    for (const text of ['a', 'b', 'c']) await chat.send(text);
    clock.advance(200);
    const entries = await chat.history();
    expect(conversation(entries)).toEqual(['> a', '> b', '> c', '< You said: a', '< You said: b\nc']);
    expect(entries.slice(3).map(({ in_reply_to }) => in_reply_to)).toEqual([
      entries[0]?.message_id,
      entries[2]?.message_id,
    ]);
    await chat.send('d');
    clock.advance(50);
    expect((await conversationOf(chat)).at(-1)).toBe('< You said: d');
  });

  test('an agent_inbox matches rules against the joined text of the messages', async () => {
    const script: Script = [{ pattern: 'name.*order (\\d+)', replies: [{ text: 'Both: $1' }] }];
    const { chat, clock } = await withAgent(script, 'agent_inbox');
    for (const text of ['Hello', 'My name is Ada', 'About order 17']) await chat.send(text);
    clock.advance(100);
    expect((await conversationOf(chat)).slice(3)).toEqual(['< You said: Hello', '< Both: 17']);
  });

  test('a silent agent in an agent_inbox is not busy, and skipped messages get no reply later', async () => {
    const { chat, clock } = await withAgent([{ pattern: 'quiet', fail: 'silent' }], 'agent_inbox');
    await chat.send('a');
    await chat.send('quiet');
    clock.advance(50);
    await chat.send('b');
    clock.advance(1_000);
    expect(await conversationOf(chat)).toEqual(['> a', '> quiet', '< You said: a', '> b', '< You said: b']);
  });

  test.each<RoutingMode>(['agent_inbox', 'session_workflow'])(
    'sessions of %s do not wait for each other',
    async (mode) => {
      const { chat, clock } = await withAgent(
        [{ pattern: 'slow', replies: [{ text: 'done', delay_ms: 5_000 }] }],
        mode,
      );
      await chat.send('slow', { session_id: 's1' });
      await chat.send('fast', { session_id: 's2' });
      clock.advance(50);
      expect(await conversationOf(chat, 's1')).toEqual(['> slow']);
      expect(await conversationOf(chat, 's2')).toEqual(['> fast', '< You said: fast']);
    },
  );
});

describe('a script', () => {
  test('sends several replies, each after its delay', async () => {
    const replies = [
      { text: 'Looking up $1', delay_ms: 100 },
      { text: 'Refund $1 is done', delay_ms: 2_000 },
    ];
    const { chat, clock } = await withAgent([{ pattern: 'refund (\\d+)', replies }]);
    const { json } = await chat.send('Please refund 42 now');
    clock.advance(100);
    expect((await conversationOf(chat)).slice(1)).toEqual(['< Looking up 42']);
    clock.advance(1_999);
    expect(await chat.history()).toHaveLength(2);
    clock.advance(1);
    const entries = await chat.history();
    expect(conversation(entries).slice(1)).toEqual(['< Looking up 42', '< Refund 42 is done']);
    expect(entries.slice(1).every(({ in_reply_to }) => in_reply_to === json.message_id)).toBe(true);
  });

  test('may reverse the replies, or send them as the user', async () => {
    const replies = [{ text: 'one' }, { text: 'two' }, { text: 'three', role: 'user' as const }];
    const { chat, clock } = await withAgent([{ pattern: '', replies, out_of_order: true }]);
    await chat.send('count');
    clock.advance(1_000);
    expect((await conversationOf(chat)).slice(1)).toEqual(['> three', '< two', '< one']);
  });

  test('may fail silently, or with a reply that says so', async () => {
    const { chat, clock } = await withAgent([
      { pattern: 'nothing', fail: 'silent' },
      { pattern: 'break', replies: [{ text: 'Working on it' }], fail: 'error-reply' },
    ]);
    await chat.send('nothing');
    clock.advance(86_400_000);
    expect(await chat.history()).toHaveLength(1);
    await chat.send('break');
    clock.advance(100);
    const [first, second] = (await conversationOf(chat)).slice(2);
    expect([first, second]).toEqual(['< Working on it', expect.stringMatching(/^< Something went wrong/)]);
  });

  test('may be limited to an agent or a template', async () => {
    const { clock, chat, ...on } = await withAgent();
    const sales = await createChat(on, 'session_workflow', { name: 'Sales', template_id: 'tmpl_sales' });
    const named = await createChat(on, 'session_workflow', { name: 'Ada' });
    const rules = [
      { pattern: '', template: 'tmpl_sales', replies: [{ text: 'sales' }] },
      { pattern: '', agent: 'Ada', replies: [{ text: 'by name' }] },
      { pattern: '', agent: chat.agent_id, replies: [{ text: 'by id' }] },
    ];
    expect((await on.admin('PUT', '/script', { rules })).status).toBe(200);
    for (const each of [chat, sales, named]) await each.send('Hello');
    clock.advance(50);
    expect((await conversationOf(sales)).at(-1)).toBe('< sales');
    expect((await conversationOf(named)).at(-1)).toBe('< by name');
    expect((await conversationOf(chat)).at(-1)).toBe('< by id');
  });

  test('can be replaced on the admin API, which does not change planned replies', async () => {
    const { chat, clock, admin } = await withAgent([{ pattern: 'a', replies: [{ text: 'old' }] }]);
    const replies = [{ text: 'old', delay_ms: 50, role: 'assistant' }];
    expect((await admin('GET', '/script')).json.rules).toEqual([{ pattern: 'a', replies, out_of_order: false }]);
    await chat.send('a');
    await admin('PUT', '/script', { rules: [{ pattern: 'a', replies: [{ text: 'new' }] }] });
    await chat.send('a');
    clock.advance(50);
    expect((await conversationOf(chat)).slice(2)).toEqual(['< old', '< new']);
    await admin('POST', '/reset', {});
    expect((await admin('GET', '/script')).json.rules).toEqual([]);
  });

  test('prevents the start of the sandbox if it is invalid', async () => {
    await expect(startSandbox({ script: [{ pattern: 'a' }] })).rejects.toThrow(
      'The script is not valid: [0] must have replies or fail.',
    );
  });
});

test('a reset drops pending replies', async () => {
  const { chat, clock, admin, ...on } = await withAgent();
  await chat.send('Hello');
  await admin('POST', '/reset', {});
  clock.advance(1_000);
  const fresh = await createChat({ admin, ...on });
  expect(await fresh.history()).toEqual([]);
  expect((await chat.page()).status).toBe(404);
});
