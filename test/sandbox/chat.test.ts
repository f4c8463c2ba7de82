import { describe, expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/index.ts';
import { createChat } from '../support/chat.ts';
import { service } from '../support/service.ts';

/** A sandbox whose clock stands still until it is advanced, so that no agent replies before. */
async function withChat(options: SandboxOptions = {}) {
  const on = await service(options);
  await on.admin('PATCH', '/clock', { frozen: true });
  const chat = await createChat(on);
  const texts = async (query?: Record<string, string>) => (await chat.history(query)).map(({ text }) => text);
  return { ...on, chat, texts, advance: (by: string) => on.admin('PATCH', '/clock', { advance: by }) };
}

test('A message with the same external id is the first one, even fifty times at once; in another session it is new', async () => {
  const { chat, texts } = await withChat();
  const send = () => chat.send('Hello', { external_message_id: 'e-1' });
  const sent = await Promise.all(Array.from({ length: 50 }, send));
  expect(sent.filter(({ status, json }) => status === 201 && json.created)).toHaveLength(1);
  expect(new Set(sent.map(({ json }) => json.message_id)).size).toBe(1);
  expect((await chat.send('Other', { external_message_id: 'e-1' })).json.created).toBe(false);
  expect(await texts()).toEqual(['Hello']);
  expect((await chat.send('Hi', { external_message_id: 'e-1', session_id: 's2' })).json.created).toBe(true);
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

describe('the history', () => {
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
