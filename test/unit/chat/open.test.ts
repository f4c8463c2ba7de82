import { expect, test } from 'vitest';
import { type ChatPrompt, openChat } from '../../../src/chat/open.ts';
import { HISTORY } from '../../support/chat.ts';
import { sendJson, startFakeService } from '../../support/fake-service.ts';
import { fastClock, settingsContext, tinyRandom } from '../../support/run.ts';
import { client } from '../api/http-client.ts';

/** Types a message into a conversation, and leaves after some polls. @returns what the prompt said, without the greeting */
async function talk(polls: number, isShown: boolean): Promise<string[]> {
  const never = new AbortController().signal;
  const service = await startFakeService({
    'POST *': (_, response) => sendJson(response, { message_id: 'm1' }),
    [`GET ${HISTORY}`]: ({ query }, response, count) => {
      const isSent = service.posts().length > 0 && query.get('after_message_id') === null;
      if (count === polls) leave?.();
      sendJson(response, isSent && isShown ? [{ message_id: 'm1', session_id: 'anna', role: 'user', text: 'Hi' }] : []);
    },
  });
  let leave: (() => void) | undefined;
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const { http } = client(service.baseUrl);
  const context = {
    clock: fastClock(),
    random: tinyRandom,
    signals: { interrupt: never },
    abortSignal: never,
    ...settingsContext(),
    progress: { start: () => undefined, update: () => undefined },
    command: (words: readonly string[]) => ['partnerctl', ...words].join(' '),
    http: async () => http,
    warn: async () => undefined,
  };
  const said: string[] = [];
  async function* entries() {
    yield 'Hi';
    await left;
  }
  const prompt: ChatPrompt = {
    entries: entries(),
    say: (text) => said.push(text),
    show: () => undefined,
    close: () => undefined,
  };
  await openChat(context, { source_id: 'src' }, 'anna', async () => prompt);
  return said.slice(1);
}

test('A conversation says once that a message which was sent does not show in its history', async () => {
  const [missing, ...others] = await talk(60, false);
  expect(missing).toContain('The message m1 does not show in the history of session anna.');
  expect(missing).toContain('partnerctl contract set messages.history.session_id');
  expect(others).toEqual([]);
  expect(await talk(60, true)).toEqual([]);
});
