import { expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { service } from '../support/service.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';

const HOSTILE = `\u001b[2J\u001b[H\u001b]0;owned\u0007gone?\rover\u202e\b\u009b31m ${'x'.repeat(100_000)}\u2028END\n\u0000`;

// Without tmux there is no terminal; skipped tests are counted as skipped.
test.skipIf(!hasTmux)(
  'a tail shows a reply full of controls, which change nothing around it, until Ctrl-C',
  async () => {
    const opened = await service();
    const place = { source_id: (await createChat(opened)).source_id, session_id: 's1' };
    const reply = (text: string) => opened.admin('POST', '/messages', { ...place, role: 'assistant', text });
    for (const text of ['before', HOSTILE]) await reply(text);
    const args = ['chat', 'tail', '--source', place.source_id, '--session', place.session_id];
    const { screen, everything, title, keys } = await inTmux(args, opened.env);
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
