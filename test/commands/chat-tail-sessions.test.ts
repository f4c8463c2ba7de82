import { describe, expect, test } from 'vitest';
import { type Chat, createChat } from '../support/chat.ts';
import { fastClock, run, tinyRandom } from '../support/run.ts';
import { service as startService, write } from '../support/service.ts';

/** Two agents, each with a conversation `same`, and one with another conversation. */
async function twoSources() {
  const service = await startService();
  const [support, billing] = [
    await createChat(service),
    await createChat(service, 'session_workflow', { name: 'Billing' }),
  ] as const;
  const say = async ({ source_id }: Chat, session_id: string, text: string): Promise<void> => {
    const body = { source_id, session_id, role: 'assistant', text };
    expect((await service.admin('POST', '/messages', body)).status).toBe(201);
  };
  await say(support, 'same', 'from support');
  await say(billing, 'same', 'from billing');
  await say(billing, 'ben', 'for ben');
  const ofSupport = ['--source', support.source_id, '--session', 'same'];
  const ofBilling = ['--source', billing.source_id, '--session', 'same', '--session', 'ben'];
  const tail = (...args: string[]) => run(['chat', 'tail', '--no-follow', ...args], { env: service.env });
  return {
    service,
    env: service.env,
    support: support.source_id,
    billing: billing.source_id,
    say,
    chats: { support, billing },
    /** The flags that select all three sessions. */
    selection: [...ofSupport, ...ofBilling],
    tail,
  };
}

function linesOf(stdout: string): string[] {
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .map(({ source_id, session_id, text }) => `${source_id} ${session_id} ${text}`)
    .sort();
}

describe('a tail of sessions of several sources', () => {
  test('pairs each --session with the --source before it', async () => {
    const { support, billing, selection, tail } = await twoSources();
    const ran = await tail(...selection, '-o', 'json');
    expect(linesOf(ran.stdout)).toEqual(
      [`${billing} ben for ben`, `${billing} same from billing`, `${support} same from support`].sort(),
    );
    expect(ran).toMatchObject({ code: 0, stderr: '' });
  });

  test('names the source if the sessions of two sources have the same id', async () => {
    const { support, billing, selection, tail } = await twoSources();
    const { stdout } = await tail(...selection, '-o', 'table');
    const short = (id: string): string => `${id.slice(0, 5)}…${id.slice(-6)}`;
    expect(stdout).toContain(`[same ${short(support)}] assistant: from support\n`);
    expect(stdout).toContain(`[same ${short(billing)}] assistant: from billing\n`);
    expect(stdout).toContain('[ben] assistant: for ben\n');
  });

  test('remembers its position in each', async () => {
    const { support, billing, tail, say, chats } = await twoSources();
    const args = ['--source', support, '--session', 'same', '--source', billing, '--session', 'same', '-o', 'json'];
    expect((await tail(...args)).stdout.split('\n')).toHaveLength(3);
    await say(chats.billing, 'same', 'more from billing');
    expect(linesOf((await tail(...args, '--resume')).stdout)).toEqual([`${billing} same more from billing`]);
    const one = await tail('--source', support, '--session', 'same', '--resume', '-o', 'json');
    expect(one).toMatchObject({ stdout: '', stderr: '' });
  });

  test('exits with 4 for a source that does not exist, and names it', async () => {
    const { support, tail } = await twoSources();
    const ran = await tail('--source', support, '--session', 'same', '--source', 'src_none', '--session', 'x');
    expect(ran.code).toBe(4);
    expect(ran.stderr).toContain('It is about session x of source src_none.');
  });

  test.each([
    [
      ['--session', 's1', '--source', 'a', '--source', 'b', '--session', 's2'],
      '--session s1 comes before the first --source',
    ],
    [['--source', 'a', '--source', 'b', '--session', 's2'], '--source a has no --session after it'],
    [['--source', 'a', '--session', 's1', '--source', 'b'], '--source b has no --session after it'],
    [
      ['--source', 'a', '--session', 's1', '--source', 'b', '--session', 's2', '--agent', 'agt_1'],
      '--source and --agent cannot be combined',
    ],
    [
      ['--source', 'a', '--session', 's1', '--source', 'b', '--session', 's2', '--after', 'm'],
      '--after names a message of one session',
    ],
    [['--source', 'a', '--source', '', '--session', 's'], '--source is empty'],
    [['--pairs', 'x', '--session', 's'], '--pairs and --session cannot be combined'],
    [['--pairs', 'x', '--after', 'm'], '--after names a message of one session'],
    [['--pairs', ''], '--pairs is empty'],
    [['--source', 'a'], '--session is missing.\n'],
    [[], '--source and --session are missing'],
  ])('rejects ambiguous flags, and sends nothing: %j', async (args, message) => {
    const { service, tail } = await twoSources();
    await service.forget();
    const ran = await tail(...args);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).not.toMatch(/hint: *$/m);
    expect(await service.received()).toEqual([]);
  });
});

describe('--pairs', () => {
  test('reads tab-separated and JSON lines, from a file and from standard input', async () => {
    const { env, support, billing } = await twoSources();
    const text = `# two agents\n${support} same\n\n{"session_id":"same","source_id":"${billing}","text":"x"}\r\n${support}\tsame\n`;
    const args = ['chat', 'tail', '--no-follow', '-o', 'json', '--pairs'];
    const expected = [`${billing} same from billing`, `${support} same from support`].sort();
    const fromFile = await run([...args, write('pairs.txt', text)], { env });
    expect(linesOf(fromFile.stdout)).toEqual(expected);
    expect(linesOf((await run([...args, '-'], { env, stdin: text })).stdout)).toEqual(expected);
  });

  test('reports every mistake with its position, before anything is sent', async () => {
    const { service, env } = await twoSources();
    await service.forget();
    const path = write(
      'pairs.txt',
      'src_1\n  {"source_id":"src_1"}\nsrc_1 ok\n{"source_id":"a",}\n{"session_id":7,"source_id":"a"}\n',
    );
    const ran = await run(['chat', 'tail', '--pairs', path], { env });
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(`${path}:1:6: the session_id is missing`);
    expect(ran.stderr).toContain(`${path}:2:3: session_id is missing, or is not a text`);
    expect(ran.stderr).toContain(`${path}:4:18: invalid JSON`);
    expect(ran.stderr).toContain(`${path}:5:1: session_id is missing, or is not a text`);
    const none = await run(['chat', 'tail', '--pairs', '-'], { env, stdin: '# nothing\n' });
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('<stdin>:1:1: there is no session') });
    expect(await service.received()).toEqual([]);
  });

  test('reads each of 300 sessions once', async () => {
    const { service, env, support, say, chats } = await twoSources();
    const ids = Array.from({ length: 300 }, (_, index) => `s${index}`);
    await Promise.all(ids.slice(0, 20).map((id) => say(chats.support, id, `hello ${id}`)));
    const stdin = ids.map((id) => `${support} ${id}\n`).join('');
    await service.forget();
    const ran = await run(['chat', 'tail', '--pairs', '-', '--no-follow', '-o', 'json'], {
      env,
      stdin,
      clock: fastClock(),
      random: tinyRandom,
    });
    expect(ran.code).toBe(0);
    expect(linesOf(ran.stdout)).toHaveLength(20);
    const polls = await service.received();
    // Two requests for a session with messages, because a page may be incomplete.
    expect(polls.length).toBeLessThanOrEqual(340);
  });
});
