import { expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { PromptLine } from '../../src/output/prompt-line.ts';
import { Conversation } from '../../src/talk/conversation.ts';
import { messageText } from '../../src/talk/message-text.ts';
import { client } from './client.ts';
import { httpServer, sendJson } from './servers.ts';

const HOSTILE = '\u001b[2J\u001b[Hgone?\u001b]0;title\u0007 \u202eevil';

/** A prompt at which the given is entered, the next once something was shown above it. */
function entering(...entries: readonly string[]): PromptLine & { readonly shown: string[] } {
  const shown: string[] = [];
  let wake = (): void => undefined;
  async function* typed(): AsyncGenerator<string> {
    for (const entry of entries) {
      const next = new Promise<void>((resolve) => {
        wake = resolve;
      });
      yield entry;
      await next;
    }
  }
  return {
    shown,
    entries: typed(),
    above(text) {
      shown.push(text);
      wake();
    },
    label: () => undefined,
    leavingAgain: () => new Promise(() => undefined),
    close: () => undefined,
  };
}

it('what a service says of a failure, and what is typed, reach the terminal harmless', async () => {
  const server = await httpServer((request, response) => {
    if (request.method === 'POST') sendJson(response, { message: HOSTILE }, 400);
    else sendJson(response, []);
  });
  const { http } = client(server.baseUrl, { clock: systemClock });
  const prompt = entering('hello', `/${HOSTILE}`, '/info');
  let ids = 0;
  const newId = (): string => {
    ids += 1;
    return `id-${ids}`;
  };
  const parts = {
    http,
    clock: systemClock,
    random: Math.random,
    interrupt: new AbortController().signal,
    newId,
    repeatLine: () => '',
    prompt,
  };
  await new Conversation({ ...parts, show: await messageText(false) }, `src${HOSTILE}`, 's').run();
  expect(prompt.shown.join('\n')).toContain('gone?');
  for (const text of prompt.shown) expect(text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]|\p{Bidi_Control}/u);
});
