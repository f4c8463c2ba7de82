import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type Chat, createChat, HISTORY, parseLines } from '../support/chat.ts';
import { fastClock, fasterClock, manualSignals, type RunOptions, run, tinyRandom } from '../support/run.ts';
import { type Service, service } from '../support/service.ts';
import { waitForPolls } from './polls.ts';

interface Listed {
  readonly session_id: string;
  readonly source_id: string;
  readonly status: string;
  readonly unanswered_since: string | null;
}

async function say(it: Service, { source_id }: Chat, session_id: string, role: string, text: string): Promise<void> {
  const { status } = await it.admin('POST', '/messages', { source_id, session_id, role, text });
  expect(status).toBe(201);
}

const START = Date.UTC(2026, 0, 1);

/** Two agents of two spaces. This machine knows `anna`, `ben`, and `empty` of one, and `zoe` of the other. */
async function knownConversations() {
  let now = START;
  const it = await service({ now: () => now });
  const [support, billing] = [await createChat(it), await createChat(it, 'agent_inbox', { name: 'Billing' })] as const;
  const { env } = it;
  await say(it, support, 'ben', 'user', 'Hi!');
  now += 1;
  await say(it, support, 'ben', 'assistant', 'How can I help?');
  now += 59_999;
  await say(it, support, 'anna', 'user', 'My refund?');
  now += 60_000;
  await say(it, support, 'anna', 'user', 'Hello?');
  await say(it, billing, 'zoe', 'user', 'The invoice is wrong.');
  now += 60_000;
  // A tail records a session without sending to it, but not an empty one.
  const ids = ['anna', 'ben', 'empty'].flatMap((id) => ['--session', id]);
  await run(['chat', 'tail', '--source', support.source_id, ...ids, '--no-follow'], { env });
  await run(['chat', 'tail', '--source', billing.source_id, '--session', 'zoe', '--no-follow'], { env });
  const watch = (args: readonly string[], options: RunOptions = {}) =>
    run(['chat', 'watch', ...args], { env, clock: fastClock(now), random: tinyRandom, ...options });
  return { it, env, support, billing, watch };
}

const list = (stdout: string): Listed[] => JSON.parse(stdout);

describe('chat watch --no-follow', () => {
  test('lists every conversation of this machine, the longest unanswered first, by customer and agent, or by ids if the token may not read those', async () => {
    const { watch, it, support, billing } = await knownConversations();
    const ran = await watch(['--no-follow', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(
      list(ran.stdout).map((each) => [each.source_id, each.session_id, each.status, each.unanswered_since]),
    ).toEqual([
      [support.source_id, 'anna', 'unanswered', '2026-01-01T00:01:00.000Z'],
      [billing.source_id, 'zoe', 'unanswered', '2026-01-01T00:02:00.000Z'],
      [support.source_id, 'ben', 'answered', null],
    ]);
    const space = (await it.spaces()).find(({ space_id }) => space_id === support.space_id)?.name;
    expect(list(ran.stdout)[0]).toMatchObject({ space, agent: 'Support', last_message: { text: 'Hello?' } });
    expect((await watch(['--no-follow'], { columns: 100 })).stdout).toMatch(/CUSTOMER.*AGENT.*SESSION.*STATUS/);
    await it.faults({ kind: 'status', status: 403, on: 'GET /automation/spaces/' });
    const ids = await watch(['--no-follow', '-o', 'table', '--wide']);
    expect(ids).toMatchObject({ code: 0, stdout: expect.stringContaining(support.source_id) });
  });

  test('lists sessions that messages were sent to, but not those whose only message was rejected, and records each once', async () => {
    const { watch, env, support } = await knownConversations();
    const path = join(env.HOME ?? '', 'rows.ndjson');
    const source = ['--source', support.source_id];
    writeFileSync(path, '{"session_id":"row","text":"Hi!"}\n{"session_id":"anna","text":"Hi!"}\n');
    await run(['chat', 'send', '--rows', path, '--dry-run', ...source], { env });
    await run(['chat', 'send', '--source', 'src_typo', '--session', 'rejected', 'Hi!'], { env });
    const known = async () => (await watch(['--no-follow', '-o', 'json', '--query', '[].session_id'])).json<string[]>();
    expect((await known()).sort()).toEqual(['anna', 'ben', 'zoe']);
    for (const _ of ['first', 'again']) {
      await run(['chat', 'send', '--rows', path, ...source], { env });
      await run(['chat', 'send', ...source, '--session', 'own', '--external-id', 'e1', 'Hi!'], { env });
    }
    expect((await known()).sort()).toEqual(['anna', 'ben', 'own', 'row', 'zoe']);
    expect(readdirSync(join(env.HOME ?? '', '.local/state/partnerctl/chat'))).toHaveLength(6);
  });

  test('lists only the conversations of a space, an agent, or a source, and says that none matches', async () => {
    const { watch, support, billing } = await knownConversations();
    const sessions = async (...args: string[]) =>
      list((await watch([...args, '--no-follow', '-o', 'json'])).stdout).map(({ session_id }) => session_id);
    expect(await sessions('--space', support.space_id)).toEqual(['anna', 'ben']);
    expect(await sessions('--agent', 'name:Billing', '--space', billing.space_id)).toEqual(['zoe']);
    const none = await watch(['--source', 'src_other', '--no-follow', '-o', 'table']);
    expect(none).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'No conversations. Those that this machine sends messages to, or follows, appear here.\n',
    });
  });

  test('says that a conversation cannot be read if its source no longer exists, and why', async () => {
    const { watch, env, support } = await knownConversations();
    const origin = env.PARTNER_BASE_URL;
    const place = { origin, source_id: 'src_gone', session_id: 'x', ids: [] };
    writeFileSync(join(env.HOME ?? '', '.local/state/partnerctl/chat/gone.json'), JSON.stringify(place));
    const ran = await watch(['--no-follow', '-o', 'json']);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toMatch(/session x of source src_gone cannot be read: .*\.\n/);
    expect(list(ran.stdout).find(({ session_id }) => session_id === 'x')).toMatchObject({ status: 'cannot_be_read' });
    expect(list(ran.stdout)[0]?.source_id).toBe(support.source_id);
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
  signals.ctrlC();
  return running;
}

describe('chat watch', () => {
  test('streams new messages as chat tail does, without the existing ones', async () => {
    const known = await knownConversations();
    const { it, support, billing } = known;
    const ran = await watchUntil(known, ['-o', 'json'], {
      act: async () => {
        await waitForPolls(it, 12);
        await say(it, support, 'anna', 'assistant', 'It is on its way.');
        await say(it, billing, 'zoe', 'user', 'Thanks.');
        await waitForPolls(it, 12);
      },
    });
    expect(ran.code).toBe(0);
    const texts = parseLines(ran.stdout).map(({ text }) => text);
    expect(texts.sort()).toEqual(['It is on its way.', 'Thanks.']);
  });

  test('draws its table again in a terminal when something is said, when a conversation begins, and for an outage', async () => {
    const known = await knownConversations();
    const { it, support, env } = known;
    const screens: string[] = [];
    const onStdout = (text: string): void => void screens.push(stripVTControlCharacters(text));
    const seen = (pattern: RegExp) => expect.poll(() => screens.some((screen) => pattern.test(screen))).toBe(true);
    const ran = await watchUntil(known, [], {
      columns: 120,
      rows: 30,
      onStdout,
      act: async () => {
        await seen(/anna[\s\S]*zoe[\s\S]*ben/);
        await seen(/To follow the first: .*chat tail --source \S+ --session anna[\s\S]*The API lists no others/);
        await say(it, support, 'anna', 'assistant', 'It is on its way.');
        await seen(/zoe[\s\S]*unanswered[\s\S]*anna[\s\S]*It is on its way/);
        await run(['chat', 'send', '--source', support.source_id, '--session', 'new', 'Hi!'], { env });
        await seen(/new/);
        await it.faults({ kind: 'status', status: 503, on: `GET ${HISTORY}` });
        await seen(/connection lost/);
        await it.faults();
        await seen(/connection restored/);
      },
    });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
  });
});
