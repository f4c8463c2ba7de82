import { describe, expect, test } from 'vitest';
import { createChat, HISTORY, MESSAGE, manualClock } from '../support/sandbox-chat.ts';
import { PROVISION, SPACES, startTestSandbox, type TestSandbox } from '../support/sandbox-client.ts';

/** A sandbox whose clock stands still, so that no agent replies. */
async function withChat() {
  const on = await startTestSandbox(manualClock());
  return { ...on, chat: await createChat(on) };
}

describe('sending a message', () => {
  test('is acknowledged immediately, and the message is in the history', async () => {
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

  test('again with the same external id returns the first message, whatever the text', async () => {
    const { chat } = await withChat();
    const first = await chat.send('Hello', { external_message_id: 'e-1' });
    const again = await chat.send('Hello?', { external_message_id: 'e-1' });
    expect([again.status, again.json]).toEqual([200, { message_id: first.json.message_id, created: false }]);
    expect((await chat.history()).map(({ text }) => text)).toEqual(['Hello']);
  });

  test('with the same external id to another session or source creates another message', async () => {
    const { partner, chat, ...on } = await withChat();
    const other = await createChat({ partner, ...on }, 'agent_inbox', { name: 'Other' });
    const sent = [
      await chat.send('Hello', { external_message_id: 'e-1' }),
      await chat.send('Hello', { external_message_id: 'e-1', session_id: 's2' }),
      await other.send('Hello', { external_message_id: 'e-1' }),
    ];
    expect(sent.map(({ json }) => json.created)).toEqual([true, true, true]);
    expect(new Set(sent.map(({ json }) => json.message_id)).size).toBe(3);
  });

  test('fifty times concurrently with one external id creates one message', async () => {
    const { chat } = await withChat();
    const send = () => chat.send('Hello', { external_message_id: 'e-1' });
    const sent = await Promise.all(Array.from({ length: 50 }, send));
    expect(sent.filter(({ status, json }) => status === 201 && json.created)).toHaveLength(1);
    expect(sent.filter(({ status, json }) => status === 200 && !json.created)).toHaveLength(49);
    expect(new Set(sent.map(({ json }) => json.message_id)).size).toBe(1);
    expect(await chat.history()).toHaveLength(1);
  });

  test.each([
    ['emoji and their joiners', '👩‍👩‍👧‍👦 é é \u{1F3F4}\u{E0067}'],
    ['newlines of every kind', '\r\na\rb\n\n\u2028\u2029 '],
    ['controls and bidi overrides', '\u0000\u001b[31m\u0007\u202e\ufeff'],
    ['a lone surrogate', 'a\ud83db'],
    ['what looks like JSON or a path', '{"__proto__":1} ../../ $& {n}'],
    ['blanks', '   '],
  ])('keeps %s unchanged', async (_, text) => {
    const { chat } = await withChat();
    await chat.send(text);
    expect((await chat.history())[0]?.text).toBe(text);
  });

  test('accepts a text of 1 MiB and a body of up to 2 MiB', async () => {
    const { chat, partner } = await withChat();
    const text = '🙂'.repeat(262_144);
    expect(Buffer.byteLength(text)).toBe(1024 * 1024);
    expect((await chat.send(text)).status).toBe(201);
    expect((await chat.history())[0]?.text).toBe(text);
    expect((await chat.send('\n'.repeat(1_000_000))).status).toBe(201);
    expect((await chat.send('x'.repeat(2 * 1024 * 1024))).status).toBe(413);
    expect((await partner('POST', PROVISION, { body: { external_space_id: text } })).status).toBe(413);
  });

  test('to an unknown source is 404', async () => {
    const { chat } = await withChat();
    const { status, json } = await chat.send('Hello', { source_id: 'src_none' });
    expect([status, json.error.code]).toEqual([404, 'source_not_found']);
  });
});

describe('an API chat token', () => {
  function issueFor({ admin }: Pick<TestSandbox, 'admin'>, source_id: string, more = {}) {
    return admin('POST', '/chat-tokens', { source_id, ...more });
  }

  test('gives access to the messages and the history of its source, and to nothing else', async () => {
    const { chat, ...on } = await withChat();
    const other = await createChat(on, 'agent_inbox', { name: 'Other' });
    const issued = await issueFor(on, chat.source_id);
    expect(issued.status).toBe(201);
    expect(issued.json).toEqual({
      token_id: expect.stringMatching(/^tok_/),
      token: expect.stringMatching(/^act_/),
      source_id: chat.source_id,
      scopes: ['api_chat.runtime'],
      allowed_ip_cidrs: [],
      created_at: expect.any(String),
    });
    const { token } = issued.json;
    const send = (source_id: string) => {
      const body = { source_id, session_id: 's1', text: 'Hello', external_message_id: 'e-1' };
      return on.partner('POST', MESSAGE, { token, body });
    };
    expect((await send(chat.source_id)).status).toBe(201);
    expect((await chat.page({}, token)).json.results).toHaveLength(1);

    for (const refused of [await send(other.source_id), await send('src_none'), await other.page({}, token)]) {
      expect([refused.status, refused.json.error.code]).toEqual([403, 'source_not_allowed']);
    }
    expect(await other.history()).toEqual([]);
    expect((await on.partner('GET', SPACES, { token })).json.error.code).toBe('missing_scope');
  });

  test('is limited to its addresses, is listed without its secret, and can be deleted', async () => {
    const { chat, ...on } = await withChat();
    const issued = await issueFor(on, chat.source_id, { allowed_ip_cidrs: ['10.0.0.0/8'] });
    const { token, ...listedToken } = issued.json;
    expect((await chat.page({}, token)).json.error.code).toBe('ip_not_allowed');
    const listed = await on.admin('GET', '/tokens');
    expect(listed.json.tokens).toContainEqual(listedToken);
    expect(listed.text).not.toContain(token);
    await on.admin('DELETE', `/tokens/${listedToken.token_id}`);
    expect((await chat.page({}, token)).status).toBe(401);
  });

  test('is removed with its source by a reset that keeps the tokens', async () => {
    const { chat, ...on } = await withChat();
    const { token } = (await issueFor(on, chat.source_id)).json;
    await on.admin('POST', '/reset', {});
    expect((await on.partner('GET', `${HISTORY}?source_id=x&session_id=y`, { token })).status).toBe(401);
    expect((await on.partner('GET', SPACES)).status).toBe(200);
  });

  test('requires an existing source and valid fields', async () => {
    const { chat, ...on } = await withChat();
    expect((await issueFor(on, 'src_none')).status).toBe(404);
    expect((await issueFor(on, chat.source_id, { scopes: [] })).json.error.fields[0].path).toBe('scopes');
    expect((await issueFor(on, chat.source_id, { allowed_ip_cidrs: ['x'] })).status).toBe(422);
  });
});
