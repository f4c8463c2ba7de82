import { describe, expect, test } from 'vitest';
import { createChat, HISTORY, MESSAGE, manualClock } from './chat.ts';
import { PROVISION, SPACES, startTestSandbox, type TestSandbox } from './client.ts';

/** A bench on which no agent answers unless time is let pass. */
async function quiet() {
  const clock = manualClock();
  const on = await startTestSandbox(clock);
  return { clock, ...on, chat: await createChat(on) };
}

describe('a message', () => {
  test('is acknowledged at once and is in the history', async () => {
    const { chat } = await quiet();
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

  test('repeated is the one that is there, whatever its text', async () => {
    const { chat } = await quiet();
    const first = await chat.send('Hello', { external_message_id: 'e-1' });
    const again = await chat.send('Hello?', { external_message_id: 'e-1' });
    expect([again.status, again.json]).toEqual([200, { message_id: first.json.message_id, created: false }]);
    expect((await chat.history()).map(({ text }) => text)).toEqual(['Hello']);
  });

  test('is another one in another session or source', async () => {
    const { partner, chat, ...on } = await quiet();
    const other = await createChat({ partner, ...on }, 'agent_inbox', { name: 'Other' });
    const sent = [
      await chat.send('Hello', { external_message_id: 'e-1' }),
      await chat.send('Hello', { external_message_id: 'e-1', session_id: 's2' }),
      await other.send('Hello', { external_message_id: 'e-1' }),
    ];
    expect(sent.map(({ json }) => json.created)).toEqual([true, true, true]);
    expect(new Set(sent.map(({ json }) => json.message_id)).size).toBe(3);
  });

  test('sent fifty times at once exists once', async () => {
    const { chat } = await quiet();
    const sent = await Promise.all(
      Array.from({ length: 50 }, () => chat.send('Hello', { external_message_id: 'e-1' })),
    );
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
  ])('keeps %s to the last character', async (_, text) => {
    const { chat } = await quiet();
    await chat.send(text);
    expect((await chat.history())[0]?.text).toBe(text);
  });

  test('may have a text of 1 MiB, and its body 2 MiB but no more', async () => {
    const { chat, partner } = await quiet();
    const text = '🙂'.repeat(262_144);
    expect(Buffer.byteLength(text)).toBe(1024 * 1024);
    expect((await chat.send(text)).status).toBe(201);
    expect((await chat.history())[0]?.text).toBe(text);
    expect((await chat.send('\n'.repeat(1_000_000))).status).toBe(201);
    expect((await chat.send('x'.repeat(2 * 1024 * 1024))).status).toBe(413);
    const elsewhere = await partner('POST', PROVISION, { body: { external_space_id: text } });
    expect(elsewhere.status).toBe(413);
  });
});

describe('a message that is refused', () => {
  test('an unknown source is 404', async () => {
    const { chat } = await quiet();
    const { status, json } = await chat.send('Hello', { source_id: 'src_none' });
    expect([status, json.error.code]).toEqual([404, 'source_not_found']);
  });

  test('every missing field is named', async () => {
    const { partner } = await quiet();
    const { status, json } = await partner('POST', MESSAGE, { body: {} });
    expect(status).toBe(422);
    expect(json.error.fields).toEqual(
      ['source_id', 'session_id', 'text', 'external_message_id'].map((path) => ({ path, message: 'is required' })),
    );
  });

  test.each([
    ['text', ''],
    ['session_id', ' '],
    ['session_id', 's'.repeat(256)],
    ['session_id', '\ud83d'],
    ['external_message_id', ''],
    ['response_mode', 'complete'],
    ['colour', 'red'],
  ])('%s %j is 422', async (path, value) => {
    const { chat } = await quiet();
    const { status, json } = await chat.send('Hello', { [path]: value });
    expect([status, json.error.fields]).toEqual([422, [{ path, message: expect.any(String) }]]);
    expect(await chat.history()).toEqual([]);
  });

  test('under 1 USD nothing is registered', async () => {
    const { chat, admin } = await quiet();
    await admin('PATCH', '/settings', { balance_usd: 0.99 });
    expect((await chat.send('Hello')).status).toBe(402);
    await admin('PATCH', '/settings', { balance_usd: 1 });
    expect(await chat.history()).toEqual([]);
  });

  test('needs the scope api_chat.runtime, as its history does', async () => {
    const { sandbox, partner, chat } = await quiet();
    const token = await sandbox.createToken({ scopes: ['api_chat.setup', 'spaces.read'] });
    const { source_id } = chat;
    const body = { source_id, session_id: 's1', text: 'Hello', external_message_id: 'e-1' };
    expect((await partner('POST', MESSAGE, { token, body })).json.error.code).toBe('missing_scope');
    expect((await chat.page({}, token)).json.error.code).toBe('missing_scope');
  });
});

describe('an API chat token', () => {
  async function tokenFor({ admin }: Pick<TestSandbox, 'admin'>, source_id: string, more = {}) {
    return admin('POST', '/chat-tokens', { source_id, ...more });
  }

  test('opens the messages and the history of its source, and nothing else', async () => {
    const { chat, ...on } = await quiet();
    const other = await createChat(on, 'agent_inbox', { name: 'Other' });
    const made = await tokenFor(on, chat.source_id);
    expect(made.status).toBe(201);
    expect(made.json).toEqual({
      token_id: expect.stringMatching(/^tok_/),
      token: expect.stringMatching(/^act_/),
      source_id: chat.source_id,
      scopes: ['api_chat.runtime'],
      allowed_ip_cidrs: [],
      created_at: expect.any(String),
    });
    const { token } = made.json;
    const sent = (source_id: string) =>
      on.partner('POST', MESSAGE, {
        token,
        body: { source_id, session_id: 's1', text: 'Hello', external_message_id: 'e-1' },
      });
    expect((await sent(chat.source_id)).status).toBe(201);
    expect((await chat.page({}, token)).json.results).toHaveLength(1);

    for (const refused of [await sent(other.source_id), await sent('src_none'), await other.page({}, token)]) {
      expect([refused.status, refused.json.error.code]).toEqual([403, 'source_not_allowed']);
    }
    expect(await other.history()).toEqual([]);
    expect((await on.partner('GET', SPACES, { token })).json.error.code).toBe('missing_scope');
  });

  test('is held to its addresses, is listed without its secret, and can be deleted', async () => {
    const { chat, ...on } = await quiet();
    const { token, ...shown } = (await tokenFor(on, chat.source_id, { allowed_ip_cidrs: ['10.0.0.0/8'] })).json;
    expect((await chat.page({}, token)).json.error.code).toBe('ip_not_allowed');
    const listed = await on.admin('GET', '/tokens');
    expect(listed.json.tokens).toContainEqual(shown);
    expect(listed.text).not.toContain(token);
    await on.admin('DELETE', `/tokens/${shown.token_id}`);
    expect((await chat.page({}, token)).status).toBe(401);
  });

  test('is gone with its source after a reset that keeps the tokens', async () => {
    const { chat, ...on } = await quiet();
    const { token } = (await tokenFor(on, chat.source_id)).json;
    await on.admin('POST', '/reset', {});
    expect((await on.partner('GET', `${HISTORY}?source_id=x&session_id=y`, { token })).status).toBe(401);
    expect((await on.partner('GET', SPACES)).status).toBe(200);
  });

  test('is made for a source that there is', async () => {
    const { chat, ...on } = await quiet();
    expect((await tokenFor(on, 'src_none')).status).toBe(404);
    expect((await tokenFor(on, chat.source_id, { scopes: [] })).json.error.fields[0].path).toBe('scopes');
    expect((await tokenFor(on, chat.source_id, { allowed_ip_cidrs: ['x'] })).status).toBe(422);
  });
});
