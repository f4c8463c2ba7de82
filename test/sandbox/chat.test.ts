import { describe, expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/index.ts';
import { createChat } from '../support/chat.ts';
import { propertyRuns } from '../support/properties.ts';
import { PROVISION, provisionBody, SPACES, service } from '../support/service.ts';

/** A sandbox whose clock stands still until it is advanced, so that no agent replies before. */
async function withChat(options: SandboxOptions = {}) {
  const on = await service(options);
  await on.admin('PATCH', '/clock', { frozen: true });
  const chat = await createChat(on);
  const texts = async (query?: Record<string, string>) => (await chat.history(query)).map(({ text }) => text);
  return { ...on, chat, texts, advance: (by: string) => on.admin('PATCH', '/clock', { advance: by }) };
}

test('A message with the same external id is the first one, even fifty times at once; elsewhere it is new', async () => {
  const { chat, texts, ...on } = await withChat();
  const send = () => chat.send('Hello', { external_message_id: 'e-1' });
  const sent = await Promise.all(Array.from({ length: 50 }, send));
  expect(sent.filter(({ status, json }) => status === 201 && json.created)).toHaveLength(1);
  expect(new Set(sent.map(({ json }) => json.message_id)).size).toBe(1);
  expect((await chat.send('Other', { external_message_id: 'e-1' })).json.created).toBe(false);
  expect(await texts()).toEqual(['Hello']);
  expect((await chat.send('Hi', { external_message_id: 'e-1', session_id: 's2' })).json.created).toBe(true);
  const other = await createChat(on, 'agent_inbox');
  expect((await other.send('Hi', { external_message_id: 'e-1' })).json.created).toBe(true);
  expect([await texts(), (await other.history()).map(({ text }) => text)]).toEqual([['Hello'], ['Hi']]);
});

test('A message is acknowledged at once, with its id alone; the only response mode is accepted', async () => {
  const { chat, texts } = await withChat();
  const { json } = await chat.send('Hi', { response_mode: 'accepted' });
  expect(json).toEqual({ message_id: expect.stringMatching(/^msg_/), created: true });
  expect(await texts()).toEqual(['Hi']);
  expect((await chat.send('Hi', { response_mode: 'sync' })).json.error.fields[0].path).toBe('response_mode');
});

test('A source that cannot reply takes messages, and no reply comes', async () => {
  const { chat, advance, partner } = await withChat();
  const body = provisionBody('mute', { agents: [{ template_id: 'tmpl_sales', name: 'Sales' }] });
  const { space, agents } = (await partner('POST', PROVISION, { body })).json;
  const path = `${SPACES}${space.space_id}/agents/${agents[0].agent_id}/api-chat/`;
  const { source_id } = (await partner('POST', path, { body: { reply_capable: false } })).json;
  expect((await chat.send('Hi', { source_id })).status).toBe(201);
  await advance('1h');
  expect((await chat.history({ source_id })).map(({ role }) => role)).toEqual(['user']);
});

test('An agent follows the first rule of the script that matches, with its delays, groups, and silence', async () => {
  const replies = [
    { text: 'It is $1: $$', delay_ms: 1_000 },
    { text: 'Bye.', delay_ms: 500 },
  ];
  const script = [
    { pattern: 'order (\\d+)', replies },
    { pattern: '^quiet$', replies: [] },
  ];
  const { chat, advance, texts } = await withChat({ script });
  await chat.send('quiet');
  await chat.send('Where is order 17?\nHurry!');
  await advance('1s');
  expect((await texts()).slice(2)).toEqual(['It is 17: $']);
  await advance('500ms');
  expect((await texts()).slice(2)).toEqual(['It is 17: $', 'Bye.']);
});

test('Each agent follows its own rules: a good, a wrong, a slow, and a silent one', async () => {
  const [minute, hour] = [60_000, 3_600_000];
  const script = [
    { agent: 'Good', pattern: 'invoice (\\d+)', replies: [{ text: 'Invoice $1 is paid.', delay_ms: 50 }] },
    { agent: 'Wrong', pattern: '.', replies: [{ text: 'Call us.', delay_ms: 50 }] },
    { agent: 'Slow', pattern: '.', replies: [{ text: 'Paid.', delay_ms: hour }] },
    { agent: 'Silent', pattern: '.', replies: [] },
  ];
  const { advance, ...on } = await withChat({ script });
  const chats = await Promise.all(script.map(({ agent: name }) => createChat(on, 'agent_inbox', { name })));
  const repliesAfter = async (ms: number) => {
    await advance(`${ms}ms`);
    const histories = await Promise.all(chats.map((chat) => chat.history()));
    return histories.map((entries) => entries.slice(1).map(({ text }) => text));
  };
  for (const chat of chats) await chat.send('Is invoice 17 paid?');
  expect(await repliesAfter(minute)).toEqual([['Invoice 17 is paid.'], ['Call us.'], [], []]);
  expect(await repliesAfter(hour)).toEqual([['Invoice 17 is paid.'], ['Call us.'], ['Paid.'], []]);
});

test('With session_workflow each message starts a run of its own, which replies; an inbox has none', async () => {
  const { chat, advance, ...on } = await withChat();
  const inbox = await createChat(on, 'agent_inbox');
  for (const text of ['one', 'two']) {
    await chat.send(text);
    await inbox.send(text);
  }
  await advance('1s');
  const runs = (await chat.page()).json.results.map(({ run_id }: { run_id: string }) => run_id);
  expect([runs[0], runs[1]]).toEqual([runs[2], runs[3]]);
  expect(new Set(runs).size).toBe(2);
  expect(new Set((await inbox.page()).json.results.map(({ run_id }: { run_id: null }) => run_id))).toEqual(
    new Set([null]),
  );
});

test('Messages may share a millisecond, and are never in the future', async () => {
  const { chat, admin } = await withChat({ now: () => Date.UTC(2026, 0, 1) });
  const { source_id } = chat;
  await admin('POST', '/messages', { source_id, session_id: 's1', role: 'user', text: '{n}', count: 3 });
  const times = (await chat.history()).map(({ created_at }) => created_at);
  expect(times).toEqual(Array.from({ length: 3 }, () => '2026-01-01T00:00:00.000Z'));
});

test('Added messages get no reply, and need a source', async () => {
  const { chat, texts, admin, advance } = await withChat();
  const valid = { source_id: chat.source_id, session_id: 's1', role: 'user', text: 'n is {n}', count: 2 };
  const add = (more: object) => admin('POST', '/messages', { ...valid, ...more });
  expect((await add({})).status).toBe(201);
  await advance('1h');
  expect(await texts()).toEqual(['n is 1', 'n is 2']);
  expect((await add({ source_id: 'src_none' })).status).toBe(404);
  expect((await add({ role: 'system', text: '', count: 0 })).json.error.fields).toHaveLength(3);
});

describe('the history', () => {
  test('of many thousand messages is read in one pass', async () => {
    const count = propertyRuns(200_000, 5_000);
    const { chat, admin } = await withChat();
    const { source_id } = chat;
    await admin('POST', '/messages', { source_id, session_id: 's1', role: 'user', text: '{n}', count });
    const entries = await chat.history({ page_size: '1000' });
    expect(entries.every(({ text }, index) => text === String(index + 1))).toBe(true);
    expect(entries).toHaveLength(count);
  });

  test('has the messages after the cursor, in pages of the requested size', async () => {
    const { chat, admin, texts } = await withChat();
    const { source_id } = chat;
    await admin('POST', '/messages', { source_id, session_id: 's1', role: 'user', text: '{n}', count: 7 });
    await admin('PATCH', '/settings', { page_size: 3 });
    expect(await texts()).toEqual(['1', '2', '3', '4', '5', '6', '7']);
    const third = (await chat.history())[2]?.message_id ?? '';
    expect(await texts({ after_message_id: third })).toEqual(['4', '5', '6', '7']);
    const { json } = await chat.page({ page_size: '2', after_message_id: third });
    expect(json.results.map(({ text }: { text: string }) => text)).toEqual(['4', '5']);
    expect(new URL(json.next).searchParams.get('page_size')).toBe('2');
  });

  test('needs a known source, a session, and a cursor that is a message of the session', async () => {
    const { chat } = await withChat();
    const other = (await chat.send('Hi', { session_id: 's2' })).json.message_id;
    expect((await chat.page({ source_id: 'src_none' })).status).toBe(404);
    expect((await chat.page({ session_id: '' })).status).toBe(422);
    for (const after_message_id of ['msg_none', '', other]) {
      const { json } = await chat.page({ after_message_id });
      expect(json.error.fields).toEqual([{ path: 'after_message_id', message: 'is not a message of this session' }]);
    }
  });
});
