import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { json, startFakeService } from '../support/fake-service.ts';
import {
  manualSignals,
  type Ran,
  type RunOptions,
  run,
  tempDirectory,
  tinyRandom,
  withDefaults,
} from '../support/run.ts';
import { service, write } from '../support/service.ts';

interface RowJson {
  readonly line: number;
  readonly source_id: string;
  readonly session_id: string;
  readonly external_message_id: string;
  readonly message_id: string | null;
  readonly created: boolean | null;
  readonly status: string;
  readonly error: { readonly type: string; readonly message: string } | null;
}

const lines = (...rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const statuses = (ran: Ran): readonly string[] => ran.json<RowJson[]>().map(({ status }) => status);

async function startChat() {
  const it = await service();
  const chat = await createChat(it);
  const send = (rows: string, more: readonly string[] = [], options: RunOptions = {}) => {
    const path = write('rows.ndjson', rows);
    const args = withDefaults(['--source', chat.source_id, '-o', 'json'], more);
    return run(['chat', 'send', '--rows', path, ...args], { env: it.env, random: tinyRandom, ...options });
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
    const path = write('rows.ndjson', rows);
    const args = withDefaults(['--source', 'src_1', '-o', 'json', '--retries', '0'], more);
    return run(['chat', 'send', '--rows', path, ...args], {
      env,
      random: tinyRandom,
      ...options,
    });
  };
  const sent = () => fake.requests.map((request) => request.json<{ text: string }>().text);
  return { fake, env, send, sent };
}

const acknowledged = json({ message_id: 'm1', created: true }, 201);

describe('chat send --rows', () => {
  test('sends each row as one message, in order per session, and a repeat sends nothing', async () => {
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
    expect(results.map(({ line, session_id, status, created }) => [line, session_id, status, created])).toEqual([
      [1, 'anna', 'sent', true],
      [2, 'ben', 'sent', true],
      [3, 'anna', 'sent', true],
      [4, 'anna', 'sent', true],
      [5, 'ben', 'sent', true],
    ]);
    expect(results[4]).toMatchObject({ external_message_id: 'b2', source_id: chat.source_id, error: null });
    expect(await texts('anna')).toEqual(['one', 'two', 'one']);
    expect(await texts('ben')).toEqual(['one', 'zwei']);
    await it.forget();
    const again = await send(rows);
    expect(statuses(again)).toEqual(Array(5).fill('skipped'));
    expect(again.json<RowJson[]>().map(({ message_id }) => message_id)).toEqual(
      results.map(({ message_id }) => message_id),
    );
    expect(await it.received()).toEqual([]);
  });

  test('registers nothing new on a repeat without the state', async () => {
    const { chat, send, texts, it } = await startChat();
    const rows = lines({ session_id: 'anna', text: 'one' }, { session_id: 'anna', text: 'one' });
    await send(rows);
    const ran = await send(rows, [], { env: { ...it.env, HOME: tempDirectory() } });
    expect(ran.json<RowJson[]>().map(({ status, created }) => [status, created])).toEqual([
      ['sent', false],
      ['sent', false],
    ]);
    expect(await texts('anna')).toEqual(['one', 'one']);
    expect(chat.source_id).toBe(ran.json<RowJson[]>()[0]?.source_id);
  });

  test('reads standard input, prefers the source of a row to --source, and uses --session for rows without one', async () => {
    const { chat, it, texts } = await startChat();
    const other = await createChat(it, 'agent_inbox', { name: 'Sales' });
    const stdin = `\ufeff${lines({ text: 'a' })}\r\n\n  \n${lines({ text: 'b', source_id: other.source_id })}{"text":"c"}`;
    const args = ['chat', 'send', '--rows', '-', '--source', chat.source_id, '--session', 's1', '-o', 'ndjson'];
    const ran = await run(args, { env: it.env, stdin });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const results = ran.stdout
      .trimEnd()
      .split('\n')
      .map((line): RowJson => JSON.parse(line));
    expect(results.map(({ line }) => line).toSorted()).toEqual([1, 5, 6]);
    expect(await texts('s1')).toEqual(['a', 'c']);
    expect((await other.history()).filter(({ role }) => role === 'user').map(({ text }) => text)).toEqual(['b']);
  });

  test('shows what --dry-run would send, and sends nothing', async () => {
    const { send, it } = await startChat();
    await send(lines({ session_id: 'anna', text: 'one' }));
    await it.forget();
    const ran = await send(lines({ session_id: 'anna', text: 'one' }, { session_id: 'anna', text: 'two' }), [
      '--dry-run',
    ]);
    expect(ran.code).toBe(0);
    expect(statuses(ran)).toEqual(['skipped', 'planned']);
    expect(await it.posts()).toEqual([]);
  });

  test('accepts an input without rows', async () => {
    const { send } = await startChat();
    expect(await send('\n')).toMatchObject({ code: 0, stdout: '[]\n' });
  });

  test('warns that the service keeps the earlier text of an id that the state does not know', async () => {
    const { send, texts, log } = await startChat();
    const derived = { session_id: 'anna', text: 'two' };
    await send(lines({ session_id: 'anna', text: 'one', external_message_id: 'own' }, derived));
    rmSync(log);
    const ran = await send(lines({ session_id: 'anna', text: 'other', external_message_id: 'own' }, derived));
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain('note: 1 of the messages were registered under their external_message_id before');
    expect(await texts('anna')).toEqual(['one', 'two']);
  });

  test('records hashes and message_ids, and no text', async () => {
    const { send, log } = await startChat();
    await send(lines({ session_id: 'anna', text: 'Secret plans', external_message_id: 'own-17' }));
    expect(readFileSync(log, 'utf8')).toMatch(/^\n[\da-f]{24} msg_\w+\n$/);
  });
});

describe('invalid rows', () => {
  test('are reported together, with file, line, and column, and nothing is sent', async () => {
    const { env, fake } = await answering(acknowledged);
    const mistakes = [
      ['{"session_id": "a", "text": }', 29, /invalid JSON/],
      ['[{"session_id": "a", "text": "b"}]', 1, /a row must be an object, not a list/],
      [' {"text": "a"}', 2, /the key "session_id" is missing[\s\S]*--session/],
      ['{"session_id": "a", "txt": "b"}', 21, /unknown key "txt"[\s\S]*did you mean "text"\?/],
      ['{"session_id": "a", "text": " "}', 21, /"text" must not be empty/],
      ['{"session_id": 42, "text": "b"}', 2, /"session_id" must be text, not 42[\s\S]*"42"/],
      ['{"session_id": "a", "text": "b", "source_id": null}', 34, /must be text, not null/],
    ] as const;
    const path = write('rows.ndjson', mistakes.map(([row]) => row).join('\n'));
    const ran = await run(['chat', 'send', '--rows', path, '--source', 'src_1'], { env });
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('Invalid input: 7 mistakes; nothing was sent.');
    for (const [index, [, column, message]] of mistakes.entries()) {
      expect(ran.stderr).toContain(`${path}:${index + 1}:${column}: `);
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

  test('exit with 2 if the file does not exist', async () => {
    const ran = await run(['chat', 'send', '--rows', '/nowhere/rows.ndjson', '--source', 'src_1']);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(/cannot be read from \/nowhere\/rows\.ndjson[\s\S]*no such file/);
  });

  test.each([
    [['Hello!'], /--rows and a message cannot be combined[\s\S]*"text"/],
    [['--wait'], /--rows and --wait cannot be combined[\s\S]*chat tail/],
    [['--concurrency', '0'], /--concurrency takes a whole number from 1 to 32/],
  ])('%j is rejected with the reason and an alternative', async (more, message) => {
    const path = write('rows.ndjson', lines({ session_id: 'a', text: 'b' }));
    const ran = await run(['chat', 'send', '--rows', path, '--source', 'src_1', ...more]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(message);
  });
});

describe('rows that fail', () => {
  const failingOn = (text: string, status: number) =>
    answering({
      'POST *': (request, response, count) => {
        const isBad = request.json<{ text: string }>().text === text;
        const step = isBad ? json({ detail: 'no' }, status) : json({ message_id: `m${count}`, created: true }, 201);
        return step(request, response, count);
      },
    });

  const ROWS = lines(
    { session_id: 'anna', text: '1' },
    { session_id: 'anna', text: 'bad' },
    { session_id: 'anna', text: '3' },
    { session_id: 'ben', text: '4' },
  );

  test('hold back only the later rows of their session: exit 10, and a repeat sends the rest in order', async () => {
    const { send, fake, sent } = await failingOn('bad', 422);
    const ran = await send(ROWS);
    expect(ran.code).toBe(10);
    expect(statuses(ran)).toEqual(['sent', 'failed', 'not_sent', 'sent']);
    const [, failed, held] = ran.json<RowJson[]>();
    expect(failed?.error).toMatchObject({ status: 422 });
    expect(held?.error?.message).toBe('Not sent, because line 2 of the same session failed.');
    expect(ran.error()).toMatchObject({
      type: 'partial_failure',
      message: 'Not all messages were sent: 2 sent, 1 failed, 1 not sent.',
      hint: expect.stringContaining('2 messages are left.'),
      details: { sent: 2, skipped: 0, failed: 1, not_sent: 1 },
    });
    expect(JSON.stringify(ran.error())).toMatch(/rows\.ndjson:2: /);
    fake.respond(acknowledged);
    fake.requests.length = 0;
    expect(statuses(await send(ROWS))).toEqual(['skipped', 'sent', 'sent', 'skipped']);
    expect(sent()).toEqual(['bad', '3']);
  });

  test('are all reported with the exit code of their failure if none was sent', async () => {
    const { send } = await answering(json({ detail: 'no such source' }, 404));
    const one = await send(lines({ session_id: 'a', text: '1' }, { session_id: 'a', text: '2' }));
    expect(one.code).toBe(4);
    expect(one.error()).toMatchObject({
      message: expect.stringMatching(/rows\.ndjson:1: /),
      hint: expect.stringMatching(/chat setup[\s\S]*2 messages are left/),
    });
    const ran = await send(lines({ session_id: 'a', text: '1' }, { session_id: 'b', text: '2' }));
    expect(ran.code).toBe(4);
    expect(ran.error().hint).toMatch(/chat setup/);
  });

  test.each([
    [401, 3],
    [403, 3],
    [402, 6],
  ])('with %i stop all others: exit %i', async (status, code) => {
    const { send, fake } = await answering(json({ code: 'no' }, status));
    const rows = lines(...Array.from({ length: 50 }, (_, index) => ({ session_id: `s${index}`, text: 'a' })));
    const ran = await send(rows, ['--concurrency', '2']);
    expect(ran.code).toBe(code);
    expect(fake.requests.length).toBeLessThanOrEqual(3);
    expect(new Set(statuses(ran))).toEqual(new Set(['failed', 'not_sent']));
  });

  test('because of --timeout leave the others unsent', async () => {
    const { send, fake } = await answering({ 'POST *': [acknowledged, () => undefined] });
    const ran = await send(ROWS, ['--timeout', '500ms', '--concurrency', '1']);
    expect(ran.code).toBe(10);
    expect(statuses(ran).slice(0, 3)).toEqual(['sent', 'failed', 'not_sent']);
    expect(fake.requests).toHaveLength(2);
  });
});

describe('Ctrl-C', () => {
  test('records what was sent and says how many rows are left, and the same command continues', async () => {
    const signals = manualSignals();
    const { InterruptedError } = await import('../../src/errors.ts');
    const { send, fake, sent } = await answering({
      'POST *': (request, response, count) => {
        if (count === 3) return signals.abort(new InterruptedError('Interrupted.'));
        return acknowledged(request, response, count);
      },
    });
    const rows = lines(...Array.from({ length: 6 }, (_, index) => ({ session_id: 'a', text: `${index}` })));
    const ran = await send(rows, [], { signals });
    expect(ran.code).toBe(130);
    expect(statuses(ran)).toEqual(['sent', 'sent', 'unknown', 'not_sent', 'not_sent', 'not_sent']);
    expect(ran.error().message).toBe('Interrupted: 2 sent, 1 unknown, 3 not sent.');
    expect(ran.error().hint).toBe('4 messages are left. Run the same command again: it sends only what is left.');
    fake.respond(acknowledged);
    fake.requests.length = 0;
    expect((await send(rows)).code).toBe(0);
    expect(sent()).toEqual(['2', '3', '4', '5']);
  });
});

test('a table at 80 columns shows the important part of each row', async () => {
  const { send } = await answering({
    'POST *': (request, response, count) => {
      const isBad = request.json<{ text: string }>().text === 'bad';
      return (isBad ? json({ detail: 'text is too long' }, 422) : acknowledged)(request, response, count);
    },
  });
  const ran = await send(
    lines(
      { session_id: 'ticket-1', text: 'ok' },
      { session_id: 'ticket-2', text: 'bad' },
      { session_id: 'ticket-2', text: 'x' },
    ),
    ['-o', 'table', '--color', 'never'],
    { columns: 80 },
  );
  expect(ran.stdout.split('\n').every((line) => line.length <= 80)).toBe(true);
  expect(ran.stdout).toMatch(/1\s+sent\s+ticket-1\s+m1/);
  expect(ran.stdout).toMatch(/2\s+failed\s+ticket-2[\s\S]*\(422\)\. Text is too long/);
  expect(ran.stdout).toMatch(/3\s+not sent\s+ticket-2/);
  expect(ran.stdout).toMatch(/because line 2 of the same session failed/);
  expect(ran.stderr).toMatch(/1 sent, 1 failed, 1 not sent\./);
});

describe('the record of what was sent', () => {
  test('causes one warning if it becomes unwritable during the run, and the messages are still reported', async () => {
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
    expect(ran.stderr).toContain('a repeat of --rows sends it again, without duplicates.');
  });
});
