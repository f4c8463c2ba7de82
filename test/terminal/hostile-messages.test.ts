import { describe, expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { start } from '../support/program.ts';
import { service as startService } from '../support/service.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';

const HOSTILE = `\u001b[2J\u001b[H\u001b]0;owned\u0007gone?\rover\u202e\b\u009b31m ${'x'.repeat(100_000)}\u2028END\n\u0000`;
// Every control of a terminal, except the line feed that ends a line.
const ACTS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/u;

async function conversation(...texts: readonly string[]) {
  const service = await startService();
  const { source_id } = await createChat(service);
  const reply = async (text: string): Promise<void> => {
    const body = { source_id, session_id: 's1', role: 'assistant', text };
    expect((await service.admin('POST', '/messages', body)).status).toBe(201);
  };
  for (const text of texts) await reply(text);
  return { env: service.env, reply, to: ['--source', source_id, '--session', 's1'] };
}

// Without tmux there is no terminal; skipped tests are counted as skipped.
describe.skipIf(!hasTmux)('in a real terminal (needs tmux)', () => {
  test('chat tail shows a reply full of controls, and the text around it does not change', async () => {
    const { env, reply, to } = await conversation('before', HOSTILE);
    const { screen, everything, title, keys } = await inTmux(['chat', 'tail', ...to], env);
    await screen(/x\\u2028END\n {2}\\x00$/);
    const all = await everything();
    expect(all).toMatch(/^assistant: before$/m);
    expect(all).toContain('assistant:\n  \\x1b[2J\\x1b[H\\x1b]0;owned\\x07gone?\\rover\\u202e\\b\\x9b31m\n  xxx');
    expect(await title()).not.toContain('owned');
    await reply('after');
    await screen(/\\x00\nassistant: after$/);
    await keys('C-c');
    await screen(/ended with 0$/);
  });
});

test('-o json contains the exact text, and no control of a terminal', async () => {
  const { env, to } = await conversation('first', HOSTILE);
  const tail = await start(['chat', 'tail', ...to, '--from-start', '--no-follow', '-o', 'json'], { env });
  const [first, hostile] = tail.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const wait = await start(['chat', 'wait', ...to, '--after', first.message_id, '-o', 'json'], { env });
  for (const { exitCode, stderr, stdout } of [tail, wait]) {
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(ACTS.test(stdout)).toBe(false);
  }
  expect(hostile.text === HOSTILE).toBe(true);
  expect(JSON.parse(wait.stdout).reply.text === HOSTILE).toBe(true);
});
