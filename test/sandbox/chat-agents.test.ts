import { describe, expect, test } from 'vitest';
import { type Script, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Chat, createChat, type HistoryEntry, manualClock } from './chat.ts';
import { startTestSandbox, type TestSandbox } from './client.ts';

type Mode = 'agent_inbox' | 'session_workflow';

async function talk(script: Script = [], mode: Mode = 'session_workflow') {
  const clock = manualClock();
  const on: TestSandbox = await startTestSandbox({ ...clock, script });
  return { clock, ...on, chat: await createChat(on, mode) };
}

function texts(entries: readonly HistoryEntry[]): string[] {
  return entries.map(({ role, text }) => `${role === 'user' ? '>' : '<'} ${text}`);
}

async function said(chat: Chat, session_id = 's1'): Promise<string[]> {
  return texts(await chat.history({ session_id }));
}

describe('an agent without a script', () => {
  test('echoes a message 50 ms later', async () => {
    const { chat, clock } = await talk();
    const { json } = await chat.send('Hello');
    clock.advance(49);
    expect(await said(chat)).toEqual(['> Hello']);
    clock.advance(1);
    expect(await said(chat)).toEqual(['> Hello', '< You said: Hello']);
    expect((await chat.history())[1]).toMatchObject({
      role: 'assistant',
      in_reply_to: json.message_id,
      external_message_id: null,
      created_at: '2026-01-01T00:00:00.050Z',
    });
    clock.advance(10_000);
    expect(await chat.history()).toHaveLength(2);
  });

  test('echoes within a moment on the clock of the machine', async () => {
    const chat = await createChat(await startTestSandbox());
    await chat.send('Hello');
    await expect.poll(() => said(chat)).toEqual(['> Hello', '< You said: Hello']);
  });

  test('does not answer a message twice that was sent twice', async () => {
    const { chat, clock } = await talk();
    await chat.send('Hello', { external_message_id: 'e' });
    clock.advance(60);
    await chat.send('Hello', { external_message_id: 'e' });
    clock.advance(60);
    expect(await said(chat)).toEqual(['> Hello', '< You said: Hello']);
  });

  test('does not answer on a source that is not capable of replies', async () => {
    const clock = manualClock();
    const on = await startTestSandbox(clock);
    const chat = await createChat(on, 'agent_inbox', { auto_create_api_chat: false });
    const path = `/automation/spaces/${chat.space_id}/agents/${chat.agent_id}/api-chat/`;
    const { source_id } = (await on.partner('POST', path, { body: { reply_capable: false } })).json;
    expect((await chat.send('Hello', { source_id })).status).toBe(201);
    clock.advance(100_000);
    expect(texts(await chat.history({ source_id }))).toEqual(['> Hello']);
  });

  test('gives messages moments that differ and go up, though the clock stands still', async () => {
    const { chat, clock } = await talk();
    for (const text of ['a', 'b', 'c']) await chat.send(text);
    clock.advance(50);
    const moments = (await chat.history()).map(({ created_at }) => created_at);
    expect(moments).toEqual([...new Set(moments)].toSorted());
    expect(moments).toHaveLength(6);
  });
});

describe('routing', () => {
  test('session_workflow runs for each message by itself', async () => {
    const { chat, clock } = await talk([], 'session_workflow');
    for (const text of ['a', 'b', 'c']) {
      await chat.send(text);
      clock.advance(10);
    }
    clock.advance(100);
    const entries = await chat.history();
    expect(texts(entries)).toEqual(['> a', '> b', '> c', '< You said: a', '< You said: b', '< You said: c']);
    expect(entries.slice(3).map(({ in_reply_to }) => in_reply_to)).toEqual(
      entries.slice(0, 3).map(({ message_id }) => message_id),
    );
  });

  test('agent_inbox: what came in while the agent was busy is answered together', async () => {
    const { chat, clock } = await talk([], 'agent_inbox');
    for (const text of ['a', 'b', 'c']) await chat.send(text);
    clock.advance(200);
    const entries = await chat.history();
    expect(texts(entries)).toEqual(['> a', '> b', '> c', '< You said: a', '< You said: b\nc']);
    expect(entries.slice(3).map(({ in_reply_to }) => in_reply_to)).toEqual([
      entries[0]?.message_id,
      entries[2]?.message_id,
    ]);
    await chat.send('d');
    clock.advance(50);
    expect((await said(chat)).at(-1)).toBe('< You said: d');
  });

  test('agent_inbox: a rule sees the messages it answers as one text', async () => {
    const script: Script = [{ pattern: 'name.*order (\\d+)', replies: [{ text: 'Both: $1' }] }];
    const { chat, clock } = await talk(script, 'agent_inbox');
    for (const text of ['Hello', 'My name is Ada', 'About order 17']) await chat.send(text);
    clock.advance(100);
    expect((await said(chat)).slice(3)).toEqual(['< You said: Hello', '< Both: 17']);
  });

  test('agent_inbox: a silent agent is not busy, and what waited is not answered later', async () => {
    const script: Script = [{ pattern: 'quiet', fail: 'silent' }];
    const { chat, clock } = await talk(script, 'agent_inbox');
    await chat.send('a');
    await chat.send('quiet');
    clock.advance(50);
    await chat.send('b');
    clock.advance(1_000);
    expect(await said(chat)).toEqual(['> a', '> quiet', '< You said: a', '> b', '< You said: b']);
  });

  test.each<Mode>(['agent_inbox', 'session_workflow'])('%s: sessions do not wait for each other', async (mode) => {
    const { chat, clock } = await talk([{ pattern: 'slow', replies: [{ text: 'done', delay_ms: 5_000 }] }], mode);
    await chat.send('slow', { session_id: 's1' });
    await chat.send('fast', { session_id: 's2' });
    clock.advance(50);
    expect(await said(chat, 's1')).toEqual(['> slow']);
    expect(await said(chat, 's2')).toEqual(['> fast', '< You said: fast']);
  });
});

describe('a script', () => {
  test('gives several replies, each after its delay', async () => {
    const replies = [
      { text: 'Looking up $1', delay_ms: 100 },
      { text: 'Refund $1 is done', delay_ms: 2_000 },
    ];
    const { chat, clock } = await talk([{ pattern: 'refund (\\d+)', replies }]);
    const { json } = await chat.send('Please refund 42 now');
    clock.advance(100);
    expect((await said(chat)).slice(1)).toEqual(['< Looking up 42']);
    clock.advance(1_999);
    expect(await chat.history()).toHaveLength(2);
    clock.advance(1);
    const entries = await chat.history();
    expect(texts(entries).slice(1)).toEqual(['< Looking up 42', '< Refund 42 is done']);
    expect(entries.slice(1).every(({ in_reply_to }) => in_reply_to === json.message_id)).toBe(true);
  });

  test('has replies come out of order when asked', async () => {
    const replies = [{ text: 'one' }, { text: 'two' }, { text: 'three' }];
    const { chat, clock } = await talk([{ pattern: '', replies, out_of_order: true }]);
    await chat.send('count');
    clock.advance(1_000);
    expect((await said(chat)).slice(1)).toEqual(['< three', '< two', '< one']);
  });

  test('a slow answer comes after the fast one to a later message', async () => {
    const { chat, clock } = await talk([{ pattern: 'slow', replies: [{ text: 'slowly', delay_ms: 500 }] }]);
    await chat.send('slow');
    await chat.send('fast');
    clock.advance(500);
    expect((await said(chat)).slice(2)).toEqual(['< You said: fast', '< slowly']);
  });

  test('fails silently, or with a reply that says so', async () => {
    const { chat, clock } = await talk([
      { pattern: 'nothing', fail: 'silent' },
      { pattern: 'break', replies: [{ text: 'Working on it' }], fail: 'error-reply' },
    ]);
    await chat.send('nothing');
    clock.advance(86_400_000);
    expect(await chat.history()).toHaveLength(1);
    await chat.send('break');
    clock.advance(100);
    expect((await said(chat)).slice(2)).toEqual(['< Working on it', expect.stringMatching(/^< Something went wrong/)]);
  });

  test('may speak as the user', async () => {
    const { chat, clock } = await talk([{ pattern: '', replies: [{ text: 'me too', role: 'user' }] }]);
    await chat.send('Hello');
    clock.advance(50);
    expect(await said(chat)).toEqual(['> Hello', '> me too']);
  });

  test('is for one agent or one template where it says so', async () => {
    const { clock, chat, ...on } = await talk();
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
    expect((await said(sales)).at(-1)).toBe('< sales');
    expect((await said(named)).at(-1)).toBe('< by name');
    expect((await said(chat)).at(-1)).toBe('< by id');
  });

  test('is shown and replaced by the admin surface; what was decided before stands', async () => {
    const { chat, clock, admin } = await talk([{ pattern: 'a', replies: [{ text: 'old' }] }]);
    expect((await admin('GET', '/script')).json.rules).toEqual([
      {
        pattern: 'a',
        replies: [{ text: 'old', delay_ms: 50, role: 'assistant' }],
        out_of_order: false,
      },
    ]);
    await chat.send('a');
    await admin('PUT', '/script', { rules: [{ pattern: 'a', replies: [{ text: 'new' }] }] });
    await chat.send('a');
    clock.advance(50);
    expect((await said(chat)).slice(2)).toEqual(['< old', '< new']);
    await admin('POST', '/reset', {});
    expect((await admin('GET', '/script')).json.rules).toEqual([]);
  });

  test('that is not valid is refused where it comes in', async () => {
    const { admin } = await talk();
    const refused = await admin('PUT', '/script', { rules: [{ pattern: '(', replies: [{ text: 'x' }] }] });
    expect(refused.json.error.fields).toEqual([{ path: 'rules[0].pattern', message: 'must be a regular expression' }]);
    await expect(startSandbox({ script: [{ pattern: 'a' }] })).rejects.toThrow(
      'The script is not valid: [0] must have replies, or say how it fails.',
    );
  });
});

describe('time', () => {
  test('a timer that goes off early does not bring a reply early, and its reply comes', async () => {
    const timers: (() => void)[] = [];
    let now = 1_000;
    const schedule = (task: () => void): (() => void) => {
      timers.push(task);
      return () => undefined;
    };
    const on = await startTestSandbox({ now: () => now, schedule });
    const chat = await createChat(on);
    await chat.send('Hello');
    timers.shift()?.();
    expect(await chat.history()).toHaveLength(1);
    now += 50;
    timers.shift()?.();
    expect(await chat.history()).toHaveLength(2);
    expect(timers).toEqual([]);
  });

  test('a burst of messages hangs on few timers', async () => {
    let timers = 0;
    const clock = manualClock();
    const schedule: typeof clock.schedule = (task, ms) => {
      timers += 1;
      return clock.schedule(task, ms);
    };
    const chat = await createChat(await startTestSandbox({ ...clock, schedule }));
    await Promise.all(Array.from({ length: 200 }, (_, number) => chat.send(`${number}`)));
    clock.advance(50);
    expect(await chat.history()).toHaveLength(400);
    expect(timers).toBe(1);
  });

  test('a reply that was due to data that was reset does not come', async () => {
    const { chat, clock, admin, ...on } = await talk();
    await chat.send('Hello');
    await admin('POST', '/reset', {});
    clock.advance(1_000);
    const fresh = await createChat({ admin, ...on });
    expect(await fresh.history()).toEqual([]);
    expect((await chat.page()).status).toBe(404);
  });
});
