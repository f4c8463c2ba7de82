import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { createChat, HISTORY, MESSAGE } from '../support/chat.ts';
import { json, startFakeService } from '../support/fake-service.ts';
import { fasterClock, manualSignals, run, tinyRandom } from '../support/run.ts';
import { service, write } from '../support/service.ts';
import { runUntilPolled, waitForPolls } from './polls.ts';

async function startChat() {
  const it = await service();
  const chat = await createChat(it);
  const to = ['chat', 'send', '--source', chat.source_id, '--session', 's1'];
  const script = async (...rules: object[]): Promise<void> => {
    expect((await it.admin('PUT', '/script', { rules })).status).toBe(200);
  };
  const reply = async (text: string, session_id = 's1'): Promise<void> => {
    const body = { source_id: chat.source_id, session_id, role: 'assistant', text };
    expect((await it.admin('POST', '/messages', body)).status).toBe(201);
  };
  return { it, chat, to, env: it.env, script, reply };
}

/** The arguments of the command that a hint names, as a shell parses them, without the program's name. */
function commandIn(hint: string | null): string[] {
  const line = /(?:it|waiting): partnerctl (.*)$/s.exec(hint ?? '')?.[1];
  if (line === undefined) throw new Error(`There is no command in ${hint}`);
  const args = execFileSync('bash', ['-c', `for word in ${line}; do printf '%s\\0' "$word"; done`]).toString();
  return args.split('\0').slice(0, -1);
}

describe('chat send', () => {
  test('registers the message and prints its ids', async () => {
    const { env, to, chat } = await startChat();
    const ran = await run([...to, 'Hello!', '-o', 'json'], { env });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const [first] = await chat.history();
    expect(first).toMatchObject({ text: 'Hello!', role: 'user' });
    expect(ran.json()).toEqual({
      source_id: chat.source_id,
      session_id: 's1',
      external_message_id: first?.external_message_id,
      message_id: first?.message_id,
      created: true,
      reply: null,
    });
    expect(first?.external_message_id).toMatch(/^[\w-]{20,}$/);
  });

  test('sends any text byte for byte, from a file and from standard input', async () => {
    const { env, to, chat } = await startChat();
    const text = '👩‍👩‍👧‍👦 株式会社 e\u0301 \u202e \u0000 \ufeff \ufffd "\'\\ $HOME `id`';
    expect((await run([...to, '--text-file', write('text', text)], { env })).code).toBe(0);
    expect((await run([...to, '-'], { env, stdin: text })).code).toBe(0);
    const said = (await chat.history()).filter(({ role }) => role === 'user');
    expect(said.map((message) => message.text === text)).toEqual([true, true]);
  });

  test('rejects a text that is missing, empty, not UTF-8, or given twice, and invalid flags; nothing is sent', async () => {
    const { it, env, to } = await startChat();
    await it.forget();
    const latin1 = write('latin1.txt', Buffer.from('caf\xe9', 'latin1'));
    const mistakes = [[], ['text', '--text-file', 'x'], ['text', '--replies', '0'], ['-'], ['--text-file', latin1]];
    for (const args of mistakes) expect((await run([...to, ...args], { env, stdin: '' })).code, `${args}`).toBe(2);
    expect(await it.received()).toEqual([]);
    expect((await run(['chat', 'send', 'x'], { env })).stderr).toContain(
      '--source and --session are missing.\nhint: Get a source_id with: partnerctl chat setup',
    );
  });

  test('notes that the message was registered before, also by an attempt of its own whose response was lost', async () => {
    const { it, env, to, chat } = await startChat();
    await it.faults({ kind: 'reset', stage: 'after', on: `POST ${MESSAGE}`, times: 1 });
    const send = () => run([...to, 'Hello!', '--external-id', 'e1', '-o', 'json'], { env, random: tinyRandom });
    const retried = await send();
    expect(retried).toMatchObject({ code: 0, stderr: expect.stringContaining('was registered before') });
    expect(retried.json()).toMatchObject({ created: false });
    expect((await send()).json()).toEqual(retried.json());
    expect((await chat.history()).filter(({ role }) => role === 'user')).toHaveLength(1);
  });
});

test('an error of chat send prints a command that sends the same text again, also from standard input and files', async () => {
  const { it, env, to } = await startChat();
  await it.faults({ kind: 'status', status: 400, on: `POST ${MESSAGE}` });
  const file = write('a b.txt', 'x');
  const text = "it's\n“two” lines";
  const refused = await run([...to, text, '--wait', '-o', 'json'], { env });
  const { hint, details } = refused.error();
  expect(commandIn(hint)).toEqual([...to, '--external-id', Object(details).external_message_id, '--wait', text]);
  for (const [args, command] of [
    [['-', '--external-id', 'e 1'], /--external-id 'e 1' -\s.*standard input/],
    [['--text-file', file], /--external-id \S+ --text-file '.*a b\.txt'/],
    [['x\u001b[2J'], /--external-id \S+ -\s.*with the same text on standard input/],
    [['--', '--wait'], /--external-id \S+ -- --wait\n/],
  ] as const) {
    const ran = await run([...to, ...args], { env, stdin: 'x' });
    expect(ran.stderr).toMatch(command);
    expect(ran.stderr).not.toContain('\u001b');
  }
});

describe('chat send --wait', () => {
  test('prints the documented JSON with the exact text, or only the text of the reply', async () => {
    const { env, to, chat } = await startChat();
    const ran = await run([...to, 'a\u001b[31m\r\n', '--wait', '-o', 'json'], { env, clock: fasterClock() });
    const [sent, reply] = await chat.history();
    expect(ran.json()).toEqual({
      source_id: chat.source_id,
      session_id: 's1',
      external_message_id: sent?.external_message_id,
      message_id: sent?.message_id,
      created: true,
      reply: {
        message_id: reply?.message_id,
        session_id: 's1',
        source_id: chat.source_id,
        role: 'assistant',
        text: 'You said: a\u001b[31m\r\n',
        created_at: reply?.created_at,
        raw: reply,
      },
    });
    const people = await run([...to, 'a\u001b[31mb\nc', '--wait'], { env, columns: 80, clock: fasterClock() });
    expect(people.stdout).toBe('You said: a\\x1b[31mb\nc\n');
  });

  test('prints the number of replies in --replies, or all until the agent is quiet', async () => {
    const { env, to, script } = await startChat();
    const replies = ['one', 'two', 'three'].map((text) => ({ text, delay_ms: 20 }));
    await script({ pattern: '.', replies });
    expect((await run([...to, 'x', '--replies', '2'], { env, clock: fasterClock() })).stdout).toBe('one\ntwo\n');
    expect((await run([...to, 'x', '--settle', '3s'], { env, clock: fasterClock() })).stdout).toBe('one\ntwo\nthree\n');
    const json = await run([...to, 'x', '--replies', '3', '-o', 'json'], { env, clock: fasterClock() });
    expect(json.json()).toMatchObject({ reply: { text: 'one' }, replies: replies.map(({ text }) => ({ text })) });
  });

  test('exits with 11 if no reply arrives in time, with the command that keeps waiting', async () => {
    const { it, env, to, chat, script, reply } = await startChat();
    await script({ pattern: 'slow', replies: [] });
    const ran = await runUntilPolled(it, [...to, 'slow', '--wait', '-o', 'json']);
    expect(ran.code).toBe(11);
    expect(ran.json()).toMatchObject({ created: true, reply: null });
    const [sent] = await chat.history();
    const { type, hint, details } = ran.error();
    expect(type).toBe('no_reply');
    expect(details).toMatchObject({ message_id: sent?.message_id, external_message_id: sent?.external_message_id });
    const args = commandIn(hint);
    expect(args).toEqual(
      ['chat', 'wait', '--source', chat.source_id, '--session', 's1'].concat('--after', sent?.message_id ?? ''),
    );
    const waiting = run(args, { env, clock: fasterClock() });
    await waitForPolls(it, 2);
    await reply('at last');
    expect(await waiting).toMatchObject({ code: 0, stdout: 'at last\n', stderr: '' });
    expect((await run([...args, '-o', 'json'], { env })).json()).toEqual({
      source_id: chat.source_id,
      session_id: 's1',
      after_message_id: sent?.message_id,
      reply: expect.objectContaining({ text: 'at last' }),
    });
    // The service refuses this again, so nothing says to keep waiting.
    const elsewhere = await run([...args.slice(0, -1), 'msg_none', '-o', 'json'], { env });
    expect(elsewhere.error()).toMatchObject({ status: 422, hint: null });
  });

  test('reports how many replies are missing, with a command that waits for those', async () => {
    const { it, to, chat, script } = await startChat();
    await script({ pattern: '.', replies: [{ text: 'one', delay_ms: 20 }] });
    const before = () => expect.poll(async () => (await chat.history()).length).toBe(2);
    const ran = await runUntilPolled(it, [...to, 'x', '--replies', '4', '-o', 'json'], { before });
    expect(ran.code).toBe(11);
    const last = (await chat.history()).find(({ text }) => text === 'one')?.message_id ?? '';
    expect(ran.error()).toMatchObject({ details: { replies: 1, missing: 3, last_message_id: last } });
    expect(commandIn(ran.error().hint).slice(-4)).toEqual(['--after', last, '--replies', '3']);
  });

  test('survives failures of the history, and names the message and the reason if it never succeeds', async () => {
    const { it, env, to } = await startChat();
    await it.faults(
      { kind: 'reset', on: `GET ${HISTORY}`, times: 2 },
      { kind: 'status', status: 404, on: `GET ${HISTORY}`, times: 2 },
    );
    expect((await run([...to, 'x', '--wait'], { env, clock: fasterClock() })).stdout).toBe('You said: x\n');
    await it.faults({ kind: 'status', status: 503, on: `GET ${HISTORY}` });
    const late = await runUntilPolled(it, [...to, 'x', '--wait', '-o', 'json']);
    expect(late.error()).toMatchObject({ type: 'no_reply', details: { why: expect.stringContaining('503') } });
    await it.faults({ kind: 'status', status: 403, on: `GET ${HISTORY}` });
    const ran = await run([...to, 'y', '--wait', '-o', 'json'], { env });
    expect(ran.code).toBe(3);
    expect(ran.error()).toMatchObject({ type: 'credentials', details: { message_id: expect.stringMatching(/^msg_/) } });
  });

  test('on Ctrl-C, ends the wait with the command that keeps waiting', async () => {
    const { it, env, to, script } = await startChat();
    await script({ pattern: '.', replies: [] });
    const signals = manualSignals();
    const running = run([...to, 'x', '--wait', '-o', 'json'], { env, signals });
    await expect.poll(async () => (await it.received()).some(({ path }) => path.includes(HISTORY))).toBe(true);
    signals.ctrlC();
    const ran = await running;
    expect(ran.code).toBe(130);
    expect(commandIn(ran.error().hint).slice(0, 2)).toEqual(['chat', 'wait']);
  });
});

test('a reply that cannot be read ends the wait with exit 8, although the history was empty before', async () => {
  const reply = { ref: 'first reply', role: 'assistant', text: 'Hi', session_id: 's1' };
  const fake = await startFakeService({
    'POST *': json({ message_id: 'm1', created: true }),
    'GET *': [json({ messages: [] }), json({ messages: [reply] })],
  });
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'pat_token-of-the-test' };
  const send = ['chat', 'send', '--source', 'src_1', '--session', 's1', '--wait', '--timeout', '1m', 'Hi'];
  const ran = await run([...send, '-o', 'json'], { env, clock: fasterClock(), random: tinyRandom });
  expect(ran).toMatchObject({ code: 8 });
  expect(ran.error().hint).toContain('partnerctl contract set message.id');
  expect(ran.error().hint).toContain('partnerctl chat wait');
});
