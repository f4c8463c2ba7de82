import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { json, startFakeService } from '../support/fake-service.ts';
import { manualSignals, type Ran, type RunOptions, run, tempDirectory, withDefaults } from '../support/run.ts';
import { service, write } from '../support/service.ts';

interface RowJson {
  readonly status: string;
  readonly [key: string]: unknown;
}

const lines = (...rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const statuses = (ran: Ran): readonly string[] => ran.json<RowJson[]>().map(({ status }) => status);

async function startChat() {
  const it = await service();
  const chat = await createChat(it);
  const send = (rows: string, more: readonly string[] = []) => {
    const args = ['--source', chat.source_id, '-o', 'json', ...more];
    return run(['chat', 'send', '--rows', write('rows.ndjson', rows), ...args], { env: it.env });
  };
  /** The texts of a session's messages. */
  const texts = async (session_id: string): Promise<readonly string[]> =>
    (await chat.history({ session_id })).filter(({ role }) => role === 'user').map(({ text }) => text);
  const log = join(it.env.HOME ?? '', '.local/state/partnerctl/chat/sent.log');
  return { it, chat, send, texts, log };
}

/** A service that answers messages with these steps, and a function that sends rows to it. */
async function answering(steps: Parameters<typeof startFakeService>[0]) {
  const fake = await startFakeService(steps);
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'tok', HOME: tempDirectory() };
  const send = (rows: string, more: readonly string[] = [], options: RunOptions = {}) => {
    const args = withDefaults(['--source', 'src_1', '-o', 'json', '--retries', '0'], more);
    return run(['chat', 'send', '--rows', write('rows.ndjson', rows), ...args], { env, ...options });
  };
  const sent = () => fake.requests.map((request) => request.json<{ text: string }>().text);
  return { fake, send, sent };
}

const acknowledged = json({ message_id: 'm1', created: true }, 201);

describe('chat send --rows', () => {
  test('sends each row as one message, in order per session, and a repeat sends nothing, nor does --dry-run', async () => {
    const { it, chat, send, texts } = await startChat();
    const rows = lines(
      { session_id: 'anna', text: 'one' },
      { session_id: 'ben', text: 'one' },
      { session_id: 'anna', text: 'two' },
      { session_id: 'anna', text: 'one' },
      { session_id: 'ben', text: 'zwei', external_message_id: 'b2' },
    );
    const ran = await send(rows);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const results = ran.json<RowJson[]>();
    expect(results.map(({ line, status, created }) => [line, status, created])).toEqual(
      [1, 2, 3, 4, 5].map((line) => [line, 'sent', true]),
    );
    expect(results[4]).toMatchObject({ external_message_id: 'b2', source_id: chat.source_id, error: null });
    expect(await texts('anna')).toEqual(['one', 'two', 'one']);
    expect(await texts('ben')).toEqual(['one', 'zwei']);
    await it.forget();
    const again = await send(rows);
    expect(statuses(again)).toEqual(Array(5).fill('skipped'));
    expect(again.json<RowJson[]>()[4]?.message_id).toBe(results[4]?.message_id);
    const more = await send(rows + lines({ session_id: 'anna', text: 'three' }), ['--dry-run']);
    expect(statuses(more).slice(4)).toEqual(['skipped', 'planned']);
    expect(await it.received()).toEqual([]);
  });

  test('reads standard input, prefers the source of a row to --source, and uses --session for rows without one', async () => {
    const { chat, it, texts } = await startChat();
    const other = await createChat(it, 'agent_inbox', { name: 'Sales' });
    const stdin = `\ufeff${lines({ text: 'a' })}\r\n\n  \n${lines({ text: 'b', source_id: other.source_id })}{"text":"c"}`;
    const args = ['chat', 'send', '--rows', '-', '--source', chat.source_id, '--session', 's1', '-o', 'ndjson'];
    const ran = await run(args, { env: it.env, stdin });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout.match(/"line":\d/g)?.toSorted()).toEqual(['"line":1', '"line":5', '"line":6']);
    expect(await texts('s1')).toEqual(['a', 'c']);
    expect((await other.history()).filter(({ role }) => role === 'user').map(({ text }) => text)).toEqual(['b']);
  });

  test('finds the source of rows without one by --agent, and takes a row that names it for one of the same source', async () => {
    const { chat, it, texts } = await startChat();
    const send = (...rows: readonly Readonly<Record<string, string>>[]) => {
      const file = write('rows.ndjson', lines(...rows.map((row) => ({ session_id: 'anna', ...row }))));
      return run(['chat', 'send', '--rows', file, '--agent', chat.agent_id, '-o', 'json'], { env: it.env });
    };
    const { source_id, agent_id } = chat;
    const clash = await send(
      { text: 'a', external_message_id: 'x' },
      { text: 'b', external_message_id: 'x', source_id },
    );
    expect(clash).toMatchObject({ code: 2, stderr: expect.stringContaining('is that of line 1') });
    expect(statuses(await send({ text: 'one' }, { text: 'one', source_id }))).toEqual(['sent', 'sent']);
    expect(await texts('anna')).toEqual(['one', 'one']);
    // The id of the agent is no source.
    const other = await send(
      { text: 'a', external_message_id: 'x' },
      { text: 'b', external_message_id: 'x', source_id: agent_id },
    );
    expect(statuses(other)).toEqual(['sent', 'failed']);
  });

  test('registers each row once, too, if the record of what was sent is lost, which holds hashes and no text', async () => {
    const { send, texts, log } = await startChat();
    const rows = lines({ session_id: 'anna', text: 'one' }, { session_id: 'anna', text: 'two' });
    await send(rows);
    expect(readFileSync(log, 'utf8')).toMatch(/^(\n[\da-f]{24} msg_\w+\n){2}$/);
    rmSync(log);
    expect((await send(rows)).json<RowJson[]>().map(({ created }) => created)).toEqual([false, false]);
    expect(await texts('anna')).toEqual(['one', 'two']);
  });
});

describe('invalid rows', () => {
  test('are reported together, with file, line, and column, and nothing is sent', async () => {
    const { fake, send } = await answering(acknowledged);
    const mistakes = [
      ['{"session_id": "a", "text": }', 1, /invalid JSON/],
      ['[{"session_id": "a", "text": "b"}]', 1, /a row must be a JSON object/],
      [' {"text": "a"}', 1, /"session_id" is missing[\s\S]*--session/],
      ['{"session_id": "a", "text": "b", "txt": "c"}', 34, /"txt" is not a key of a row/],
      ['{"session_id": "a", "text": " "}', 21, /"text" must not be empty/],
      ['{"session_id": 42, "text": "b"}', 2, /"session_id" must be text/],
    ] as const;
    const ran = await send(mistakes.map(([row]) => row).join('\n'), ['-o', 'table']);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('Invalid input: 6 mistakes; nothing was sent.');
    for (const [index, [, column, message]] of mistakes.entries()) {
      expect(ran.stderr).toContain(`rows.ndjson:${index + 1}:${column}: `);
      expect(ran.stderr).toMatch(message);
    }
    expect(ran.stderr).toContain('   5 | {"session_id": "a", "text": " "}\n       |                     ^^^^^^');
    expect(fake.requests).toEqual([]);
  });

  test('include two texts with one external id, but not the same text twice, which is one message', async () => {
    const { send, texts, it } = await startChat();
    const row = { session_id: 'a', text: 'b', external_message_id: 'x' };
    const ran = await send(lines(row, { ...row, text: 'c' }));
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(/is that of line 1, which has another text/);
    expect(await it.posts()).not.toContainEqual(expect.objectContaining({ path: expect.stringContaining('message') }));
    expect(statuses(await send(lines(row, row, { ...row, session_id: 'z', text: 'c' })))).toEqual([
      'sent',
      'skipped',
      'sent',
    ]);
    expect(await texts('a')).toEqual(['b']);
  });

  test('cannot be mended by a flag for one message', async () => {
    const ran = await run(['chat', 'send', '--source', 'src_1', '--rows', 'rows.ndjson', '--wait']);
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('--rows cannot be combined') });
  });
});

describe('rows that fail', () => {
  const ROWS = lines(
    { session_id: 'anna', text: '1' },
    { session_id: 'anna', text: 'bad' },
    { session_id: 'anna', text: '3' },
    { session_id: 'ben', text: '4' },
  );

  test('hold back only the later rows of their session: exit 10, and a repeat sends the rest in order', async () => {
    const { send, fake, sent } = await answering({
      'POST *': (request, response, count) => {
        const refuses = request.json<{ text: string }>().text === 'bad';
        return (refuses ? json({ detail: 'no' }, 422) : acknowledged)(request, response, count);
      },
    });
    const ran = await send(ROWS);
    expect(ran.code).toBe(10);
    expect(statuses(ran)).toEqual(['sent', 'failed', 'not_sent', 'sent']);
    const held = { message: 'Not sent, because line 2 failed.' };
    expect(ran.json()).toMatchObject([{}, { error: { status: 422 } }, { error: held }, {}]);
    expect(ran.error()).toMatchObject({
      type: 'partial_failure',
      message: '1 of 4 messages failed.',
      hint: expect.stringContaining('Run the same command again: it sends only what is left.'),
      details: { sent: 2, skipped: 0, failed: 1, not_sent: 1 },
    });
    fake.respond(acknowledged);
    fake.requests.length = 0;
    expect(statuses(await send(ROWS))).toEqual(['skipped', 'sent', 'sent', 'skipped']);
    expect(sent()).toEqual(['bad', '3']);
  });

  test.each([
    [401, 3],
    [402, 6],
  ])('with %i stop all others: exit %i', async (status, code) => {
    const { send, fake } = await answering(json({ code: 'no' }, status));
    const rows = lines(...Array.from({ length: 50 }, (_, index) => ({ session_id: `s${index}`, text: 'a' })));
    const ran = await send(rows, ['--concurrency', '2']);
    expect(ran.code).toBe(code);
    expect(fake.requests.length).toBeLessThanOrEqual(3);
    expect(new Set(statuses(ran))).toEqual(new Set(['failed', 'not_sent']));
  });
});

test('Ctrl-C records what was sent and says how many rows are left, and the same command continues', async () => {
  const signals = manualSignals();
  const { send, fake, sent } = await answering({
    'POST *': (request, response, count) => {
      if (count === 3) return signals.ctrlC();
      return acknowledged(request, response, count);
    },
  });
  const rows = lines(...Array.from({ length: 6 }, (_, index) => ({ session_id: 'a', text: `${index}` })));
  const ran = await send(rows, [], { signals });
  expect(ran.code).toBe(130);
  expect(statuses(ran)).toEqual(['sent', 'sent', 'unknown', 'not_sent', 'not_sent', 'not_sent']);
  expect(ran.error().message).toBe('Interrupted. 2 sent, 1 unknown, 3 not sent.');
  expect(ran.error().hint).toBe('Run the same command again: it sends only what is left.');
  fake.respond(acknowledged);
  fake.requests.length = 0;
  expect((await send(rows)).code).toBe(0);
  expect(sent()).toEqual(['2', '3', '4', '5']);
});

test('the record of what was sent causes one warning if it becomes unwritable during the run', async () => {
  const directory = tempDirectory();
  const { send } = await answering({
    'POST *': (request, response, count) => {
      if (count === 2) {
        rmSync(join(directory, 'chat'), { recursive: true });
        writeFileSync(join(directory, 'chat'), '');
      }
      return acknowledged(request, response, count);
    },
  });
  const rows = lines(...Array.from({ length: 5 }, (_, index) => ({ session_id: `${index}`, text: 'a' })));
  const ran = await send(rows, ['--state', join(directory, 'state.jsonl'), '--concurrency', '1']);
  expect(ran.code).toBe(0);
  expect(statuses(ran)).toEqual(Array(5).fill('sent'));
  expect(ran.stderr.match(/^warning: /gm)).toHaveLength(1);
  expect(ran.stderr).toContain('What follows is not recorded');
});
