import { expect, test } from 'vitest';
import { createChat, parseLines } from '../support/chat.ts';
import { start, until } from '../support/program.ts';
import { service } from '../support/service.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';

/** A conversation, the arguments of its tail, and what adds a reply of the agent. */
async function startConversation() {
  const { env, admin, ...sandbox } = await service();
  const chat = await createChat({ admin, ...sandbox });
  const place = { source_id: chat.source_id, session_id: 's1', role: 'assistant' };
  return {
    env,
    chat,
    tail: ['chat', 'tail', '--source', chat.source_id, '--session', 's1'],
    reply: (text: string) => admin('POST', '/messages', { ...place, text }),
  };
}

test('a tail whose reader is gone exits 0 and does not record what was not read', async () => {
  const { env, chat, tail, reply } = await startConversation();
  await reply('one');
  const child = start([...tail, '-o', 'json', '--from-start', '--interval', '100ms'], { env });
  const first = await until(child.stdout, /\n/);
  child.stdout.destroy();
  await reply('two');
  expect((await child).exitCode).toBe(0);
  const rest = await start([...tail, '-o', 'json', '--resume', '--no-follow'], { env });
  const shown = [...parseLines(first), ...parseLines(rest.stdout)].map(({ message_id }) => message_id);
  expect(shown).toEqual((await chat.history()).map(({ message_id }) => message_id));
});

const HOSTILE = `\u001b[2J\u001b[H\u001b]0;owned\u0007gone?\rover\u202e\b\u009b31m ${'x'.repeat(100_000)}\u2028END\n\u0000`;

// Without tmux there is no terminal; skipped tests are counted as skipped.
test.skipIf(!hasTmux)(
  'a tail shows a reply full of controls, which change nothing around it, until Ctrl-C',
  async () => {
    const { env, tail, reply } = await startConversation();
    for (const text of ['before', HOSTILE]) await reply(text);
    const { screen, everything, title, keys } = await inTmux(tail, env);
    await screen(/x\\u2028END\n {2}\\x00$/);
    const all = await everything();
    expect(all).toMatch(/^assistant: before$/m);
    expect(all).toContain('assistant:\n  \\x1b[2J\\x1b[H\\x1b]0;owned\\x07gone?\\rover\\u202e\\b\\x9b31m\n  xxx');
    expect(await title()).not.toContain('owned');
    await reply('after');
    await screen(/\\x00\nassistant: after$/);
    await keys('C-c');
    await screen(/ended with 0$/);
  },
);
