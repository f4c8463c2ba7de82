import { expect, test } from 'vitest';
import { addReplies, expectAllShown, parseLines, startConversations } from '../support/chat.ts';
import { shell, start, until } from '../support/program.ts';
import { service } from '../support/service.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';

test('a tail whose reader is gone exits 0 and does not record what was not read', async () => {
  const chats = await startConversations(await service(), 1);
  const { env } = chats.service;
  await addReplies(chats, 1);
  const line = `partnerctl ${chats.tailArgs.join(' ')} --from-start --interval 100ms | head -n 1`;
  const child = shell(line, { env });
  const first = await until(child.stdout, /\n/);
  await addReplies(chats, 1);
  expect((await child).exitCode).toBe(0);
  const rest = await start([...chats.tailArgs, '--resume', '--no-follow'], { env });
  await expectAllShown(chats, [...parseLines(first), ...parseLines(rest.stdout)]);
});

const HOSTILE = `\u001b[2J\u001b[H\u001b]0;owned\u0007gone?\rover\u202e\b\u009b31m ${'x'.repeat(100_000)}\u2028END\n\u0000`;

// Without tmux there is no terminal; skipped tests are counted as skipped.
test.skipIf(!hasTmux)(
  'a tail shows a reply full of controls, which change nothing around it, until Ctrl-C',
  async () => {
    const { service: sandbox, chat } = await startConversations(await service(), 1);
    const place = { source_id: chat.source_id, session_id: 's1', role: 'assistant' };
    const reply = (text: string) => sandbox.admin('POST', '/messages', { ...place, text });
    for (const text of ['before', HOSTILE]) await reply(text);
    const args = ['chat', 'tail', '--source', chat.source_id, '--session', 's1'];
    const { screen, everything, title, keys } = await inTmux(args, sandbox.env);
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
