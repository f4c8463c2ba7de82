import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { InterruptedError } from '../../src/errors.ts';
import { appendRecord } from '../../src/state/append.ts';
import { randomRecordId, recordHead } from '../../src/state/record.ts';
import { type Chat, createChat } from '../support/chat.ts';
import {
  fastClock,
  fasterClock,
  leapingClock,
  manualSignals,
  type RunOptions,
  run,
  tempDirectory,
  tinyRandom,
} from '../support/run.ts';
import { type Service, service } from '../support/service.ts';
import { waitForPolls } from './polls.ts';

interface Listed {
  readonly session_id: string;
  readonly source_id: string;
  readonly status: string;
  readonly unanswered_since: string | null;
  readonly last_message_at: string | null;
  readonly last_message: { readonly text: string } | null;
}

async function say(it: Service, { source_id }: Chat, session_id: string, role: string, text: string): Promise<void> {
  const { status } = await it.admin('POST', '/messages', { source_id, session_id, role, text });
  expect(status).toBe(201);
}

const START = Date.UTC(2026, 0, 1);

/** Two agents of two spaces; this machine has recorded the sessions `anna`, `ben`, and `empty` of one, and `zoe` of the other. */
async function knownConversations() {
  let now = START;
  const it = await service({ now: () => now });
  const [support, billing] = [await createChat(it), await createChat(it, 'agent_inbox', { name: 'Billing' })] as const;
  const { env } = it;
  await say(it, support, 'ben', 'user', 'Hi!');
  await say(it, support, 'ben', 'assistant', 'How can I help?');
  now += 60_000;
  await say(it, support, 'anna', 'user', 'My refund?');
  now += 60_000;
  await say(it, support, 'anna', 'user', 'Hello?');
  await say(it, billing, 'zoe', 'user', 'The invoice is wrong.');
  now += 60_000;
  const pairs = [...['anna', 'ben', 'empty'].map((id) => `${support.source_id} ${id}`), `${billing.source_id} zoe`];
  // A tail records a session without sending to it, but not an empty one.
  await run(['chat', 'tail', '--pairs', '-', '--no-follow'], { env, stdin: pairs.join('\n') });
  const clock = () => fastClock(now);
  const watch = (args: readonly string[], options: RunOptions = {}) =>
    run(['chat', 'watch', ...args], { env, clock: clock(), random: tinyRandom, ...options });
  return { it, env, support, billing, watch, clock, advance: (ms: number) => (now += ms), now: () => now };
}

const list = (stdout: string): Listed[] => JSON.parse(stdout);

describe('chat watch --no-follow', () => {
  test('lists every conversation of this machine, the longest unanswered first', async () => {
    const { watch, support, billing } = await knownConversations();
    const ran = await watch(['--no-follow', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(
      list(ran.stdout).map(({ source_id, session_id, status, unanswered_since, last_message }) => ({
        source_id,
        session_id,
        status,
        unanswered_since,
        text: last_message?.text,
      })),
    ).toEqual([
      {
        source_id: support.source_id,
        session_id: 'anna',
        status: 'unanswered',
        unanswered_since: '2026-01-01T00:01:00.000Z',
        text: 'Hello?',
      },
      {
        source_id: billing.source_id,
        session_id: 'zoe',
        status: 'unanswered',
        unanswered_since: '2026-01-01T00:02:00.000Z',
        text: 'The invoice is wrong.',
      },
      {
        source_id: support.source_id,
        session_id: 'ben',
        status: 'answered',
        unanswered_since: null,
        text: 'How can I help?',
      },
    ]);
  });

  test('lists a session that a message was sent to', async () => {
    const { watch, env, support } = await knownConversations();
    await run(['chat', 'send', '--source', support.source_id, '--session', 'new', 'Hi!'], { env });
    const ran = await watch(['--no-follow', '-o', 'json', '--query', '[].session_id']);
    expect(ran.json<string[]>().sort()).toEqual(['anna', 'ben', 'new', 'zoe']);
  });

  test('lists sessions that rows, or a message with an explicit id, were sent to, and records each once', async () => {
    const { watch, env, support } = await knownConversations();
    const path = join(env.HOME ?? '', 'rows.ndjson');
    const source = ['--source', support.source_id];
    writeFileSync(path, '{"session_id":"row","text":"Hi!"}\n{"session_id":"anna","text":"Hi!"}\n');
    await run(['chat', 'send', '--rows', path, '--dry-run', ...source], { env });
    const known = async () => (await watch(['--no-follow', '-o', 'json', '--query', '[].session_id'])).json<string[]>();
    expect((await known()).sort()).toEqual(['anna', 'ben', 'zoe']);
    for (const _ of ['first', 'again']) {
      await run(['chat', 'send', '--rows', path, ...source], { env });
      await run(['chat', 'send', ...source, '--session', 'own', '--external-id', 'e1', 'Hi!'], { env });
    }
    expect((await known()).sort()).toEqual(['anna', 'ben', 'own', 'row', 'zoe']);
    const state = readFileSync(join(env.HOME ?? '', '.local/state/partnerctl/state.jsonl'), 'utf8');
    expect(state.match(/"type":"chat.sessions"/g)).toHaveLength(2);
  });

  test.each([
    ['a space', ({ support }: { support: Chat }) => ['--space', support.space_id], ['anna', 'ben']],
    ['an agent', ({ billing }: { billing: Chat }) => ['--agent', 'name:Billing', '--space', billing.space_id], ['zoe']],
    ['a source', ({ billing }: { billing: Chat }) => ['--source', billing.source_id], ['zoe']],
    ['no known source', () => ['--source', 'src_other'], []],
  ])('lists only the conversations of %s', async (_, args, expected) => {
    const known = await knownConversations();
    const ran = await known.watch([...args(known as never), '--no-follow', '-o', 'json']);
    expect(list(ran.stdout).map(({ session_id }) => session_id)).toEqual(expected);
  });

  test('does not list a session whose only message the service rejected', async () => {
    const { watch, env } = await knownConversations();
    expect((await run(['chat', 'send', '--source', 'src_typo', '--session', 'x', 'Hi!'], { env })).code).toBe(4);
    const ran = await watch(['--no-follow', '-o', 'json', '--query', '[].session_id']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json<string[]>().sort()).toEqual(['anna', 'ben', 'zoe']);
  });

  test('shows a conversation whose source no longer exists as unread, and warns', async () => {
    const { watch, env, support } = await knownConversations();
    const state = join(env.HOME ?? '', '.local/state/partnerctl/state.jsonl');
    const head = recordHead('chat.sessions', { now: () => 0, newId: randomRecordId });
    const record = { ...head, origin: env.PARTNER_BASE_URL, sessions: [['src_gone', 'x']] };
    await appendRecord(state, record);
    const ran = await watch(['--no-follow', '-o', 'json']);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toMatch(/session x of source src_gone cannot be read: .*[^.] \(.*[^.]\)\.\n/);
    expect((await watch(['--no-follow', '-o', 'table'])).stderr).toContain('4 conversations, 2 unanswered, 1 unread.');
    expect(list(ran.stdout).find(({ session_id }) => session_id === 'x')).toMatchObject({ status: 'unread' });
    expect(list(ran.stdout)[0]?.source_id).toBe(support.source_id);
  });

  test('exits with 11 if a conversation is unanswered for too long, and names it', async () => {
    const { watch, support } = await knownConversations();
    expect((await watch(['--no-follow', '--alert-after', '150s', '-o', 'json'])).code).toBe(0);
    const both = await watch(['--no-follow', '--alert-after', '30s', '-o', 'json']);
    expect(both.error()).toMatchObject({ message: expect.stringMatching(/ So is 1 more: .*zoe.*\.$/) });
    const ran = await watch(['--no-follow', '--alert-after', '90s', '-o', 'json']);
    expect(ran.code).toBe(11);
    expect(list(ran.stdout)).toHaveLength(3);
    expect(ran.error()).toMatchObject({
      type: 'no_reply',
      message: expect.stringContaining(`Session anna of source ${support.source_id} is unanswered for 2m`),
      details: { session_id: 'anna', source_id: support.source_id, unanswered_since: '2026-01-01T00:01:00.000Z' },
    });
  });

  test('says that this machine has recorded no conversation', async () => {
    const { env } = await service();
    const none = await run(['chat', 'watch', '--no-follow', '-o', 'json'], { env });
    expect(none).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' });
    const check = await run(['chat', 'watch', '--no-follow', '--alert-after', '1h'], { env });
    expect(check).toMatchObject({ code: 0, stderr: expect.stringContaining('there is nothing to alert about') });
    const follow = await run(['chat', 'watch'], { env });
    expect(follow).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('This machine knows no such conversation'),
    });
  });
});

/** Runs a watch until a condition holds, then ends it with Ctrl-C. */
async function watchUntil(
  { env }: { readonly env: Record<string, string> },
  args: readonly string[],
  { act, ...options }: RunOptions & { act: () => Promise<unknown> },
) {
  const signals = manualSignals();
  const running = run(['chat', 'watch', '--interval', '500ms', ...args], {
    env,
    signals,
    random: tinyRandom,
    clock: fasterClock(),
    ...options,
  });
  await act();
  signals.abort(new InterruptedError('Interrupted.'));
  return running;
}

describe('chat watch', () => {
  test('streams new messages as chat tail does, without the existing ones', async () => {
    const known = await knownConversations();
    const { it, support, billing } = known;
    const ran = await watchUntil(known, ['-o', 'json'], {
      act: async () => {
        await waitForPolls(it, 6);
        await say(it, support, 'anna', 'assistant', 'It is on its way.');
        await say(it, billing, 'zoe', 'user', 'Thanks.');
        await waitForPolls(it, 12);
      },
    });
    expect(ran.code).toBe(0);
    const shown = ran.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(shown.map(({ text }) => text).sort()).toEqual(['It is on its way.', 'Thanks.']);
    expect(Object.keys(shown[0])).toEqual([
      'message_id',
      'session_id',
      'source_id',
      'role',
      'text',
      'created_at',
      'raw',
    ]);
  });

  test('shows the conversations first, then only messages that match, with the match marked', async () => {
    const known = await knownConversations();
    const { it, support } = known;
    const ran = await watchUntil(known, ['--grep', 'refund|card', '--highlight', 'card \\d+', '--color', 'always'], {
      columns: 60,
      act: async () => {
        await waitForPolls(it, 6);
        await say(it, support, 'anna', 'assistant', 'Nothing to see.');
        await say(
          it,
          support,
          'anna',
          'assistant',
          'The refund goes to the card that we have on file, which is card 4711 of the bank.',
        );
        await waitForPolls(it, 12);
      },
    });
    expect(ran.stdout).toMatch(/SESSION.*STATUS.*SINCE/);
    expect(ran.stdout.indexOf('anna')).toBeLessThan(ran.stdout.indexOf('zoe'));
    expect(ran.stdout).not.toContain('Nothing to see');
    // The match is on a line that wraps.
    expect(ran.stdout).toContain('\u001b[33mcard 4711\u001b[39m');
    expect(ran.stderr).toContain('3 conversations, 2 unanswered.');
  });

  test.each([
    ['low', { columns: 60, rows: 6 }],
    ['so narrow that a conversation takes several lines', { columns: 24, rows: 12 }],
  ])('shows the most urgent conversation last if the screen is %s, so that it stays visible', async (_, size) => {
    const known = await knownConversations();
    const act = () => waitForPolls(known.it, 6);
    const { stdout } = await watchUntil(known, [], { ...size, act });
    expect(stdout.indexOf('zoe')).toBeGreaterThan(stdout.indexOf('ben'));
    expect(stdout.indexOf('anna')).toBeGreaterThan(stdout.indexOf('zoe'));
  });

  test('exits with 11 once a conversation is unanswered for too long, after reading it again', async () => {
    const it = await service();
    const support = await createChat(it);
    const { env } = it;
    await say(it, support, 'ben', 'assistant', 'How can I help?');
    await run(['chat', 'tail', '--source', support.source_id, '--session', 'ben', '--no-follow'], { env });
    const clock = leapingClock();
    const running = run(['chat', 'watch', '--interval', '500ms', '--alert-after', '1h', '-o', 'json'], {
      env,
      clock,
      random: tinyRandom,
    });
    await waitForPolls(it, 2);
    await say(it, support, 'ben', 'user', 'Are you there?');
    await waitForPolls(it, 3);
    clock.leap(3_600_000);
    const ran = await running;
    expect(ran).toMatchObject({ code: 11 });
    expect(ran.error()).toMatchObject({ details: { session_id: 'ben', source_id: support.source_id } });
  });

  test('runs a command once per unanswered conversation, with ids in its environment', async () => {
    const known = await knownConversations();
    const { it, support, billing } = known;
    const log = join(tempDirectory(), 'alerts');
    const command = `echo "$PARTNER_SPACE_ID|$PARTNER_SOURCE_ID|$PARTNER_SESSION_ID|$PARTNER_UNANSWERED_SINCE" >> '${log}'; echo noise`;
    const ran = await watchUntil(
      known,
      ['--space', support.space_id, '--alert-after', '1m', '--alert-command', command, '-o', 'json'],
      {
        act: async () => {
          await expect.poll(() => existsSync(log)).toBe(true);
          await waitForPolls(it, 12);
        },
      },
    );
    expect(readFileSync(log, 'utf8')).toBe(`${support.space_id}|${support.source_id}|anna|2026-01-01T00:01:00.000Z\n`);
    expect(ran.code).toBe(0);
    expect(ran.json()).toMatchObject({
      alert: 'unanswered',
      session_id: 'anna',
      source_id: support.source_id,
      space_id: support.space_id,
    });
    expect(ran.stdout).not.toContain('noise');
    expect(billing.source_id).toBeTruthy();
  });

  test('warns if a command fails, and continues', async () => {
    const known = await knownConversations();
    const ran = await watchUntil(known, ['--alert-after', '1m', '--alert-command', 'exit 7', '-o', 'json'], {
      act: () => waitForPolls(known.it, 20),
    });
    expect(ran.code).toBe(0);
    expect(ran.stderr.match(/The --alert-command for session \w+ failed: exit code 7\./g)).toHaveLength(2);
  });

  test('kills a command that ignores SIGTERM', async () => {
    const known = await knownConversations();
    const log = join(tempDirectory(), 'started');
    const command = `trap "" TERM; echo yes > '${log}'; while :; do sleep 0.1; done`;
    const ran = await watchUntil(known, ['--alert-after', '1m', '--alert-command', command, '-o', 'json'], {
      act: () => expect.poll(() => existsSync(log)).toBe(true),
    });
    expect(ran.code).toBe(0);
  });

  test('ends a command at --timeout, and names the sessions that it did not finish for', async () => {
    const { env } = await knownConversations();
    const args = ['--alert-after', '1m', '--alert-command', 'exec sleep 60', '--timeout', '1s', '--interval', '500ms'];
    const started = performance.now();
    const ran = await run(['chat', 'watch', ...args], { env, random: tinyRandom, clock: systemClock });
    expect(performance.now() - started).toBeLessThan(30_000);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toMatch(/The --alert-command for session \w+ failed: --timeout ended it\./);
    expect(ran.stderr).toMatch(/The --alert-command for session \w+ failed: --timeout came before its turn\./);
  });

  test.each([
    [['--grep', '('], '--grep takes a regular expression'],
    [['--highlight', ''], '--highlight is empty'],
    [['--alert-command', 'true'], '--alert-command needs --alert-after'],
    [['--alert-after', 'soon'], '--alert-after takes a duration'],
    [['--alert-after', '1m', '--alert-command', ' '], '--alert-command is empty'],
    [['--no-follow', '--grep', 'x'], '--grep and --no-follow cannot be combined'],
    [['--agent', 'name:Support'], '--agent name:<name> needs --space'],
    [['--source', 'a', '--space', 'spc_1'], '--space can only be used with --agent'],
    [['--interval', '1ms'], '--interval must be 100ms or more'],
  ])('rejects %j', async (args, message) => {
    const { env } = await service();
    const ran = await run(['chat', 'watch', ...args], { env });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });
});
