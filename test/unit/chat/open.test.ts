import { describe, expect, it } from 'vitest';
import { type ChatPrompt, type OpenDeps, openChat } from '../../../src/chat/open.ts';
import { InterruptedError, LocalError } from '../../../src/errors.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { sendJson, startFakeService } from '../../support/fake-service.ts';
import { client } from '../api/http-client.ts';

/** A prompt that enters the given texts, each once something was shown above it. */
function entering(...entries: readonly string[]): ChatPrompt & { readonly shown: string[] } {
  const shown: string[] = [];
  let wake = (): void => undefined;
  let open = true;
  async function* typed(): AsyncGenerator<string> {
    for (const entry of entries) {
      if (!open) return;
      const next = new Promise<void>((resolve) => {
        wake = resolve;
      });
      yield entry;
      await next;
    }
  }
  const say = (text: string): void => {
    shown.push(text);
    wake();
  };
  return {
    shown,
    entries: typed(),
    say,
    async show({ text }) {
      say(text ?? '');
    },
    showEvent: () => undefined,
    setAwaiting: () => undefined,
    nextLeaveKey: () => new Promise(() => undefined),
    close() {
      open = false;
      wake();
    },
  };
}

/** A conversation with a service, with defaults for what a test does not set. */
function conversation(
  baseUrl: string,
  prompt: ChatPrompt,
  more: Partial<OpenDeps> = {},
): { readonly run: () => Promise<void> } {
  const { signal = new AbortController().signal } = more;
  const deps: OpenDeps = {
    http: client(baseUrl, { clock: systemClock, interrupt: signal }).http,
    clock: systemClock,
    random: Math.random,
    signal,
    remainingMs: () => Number.POSITIVE_INFINITY,
    newId: () => 'id-1',
    resendCommand: () => '',
    describeError: ({ message }) => message,
    remember: async () => undefined,
    prompt,
    ...more,
  };
  return { run: () => openChat(deps, { source_id: 'src', session_id: 's' }) };
}

it('a signal ends the conversation and prints the command that resends an unsent message', async () => {
  const interrupt = new AbortController();
  const server = await startFakeService(({ method }, response) => {
    // The message never gets a response.
    if (method === 'POST') interrupt.abort(new InterruptedError('Interrupted.', 143));
    else sendJson(response, []);
  });
  const talk = conversation(server.baseUrl, entering('hello', 'never'), {
    signal: interrupt.signal,
    resendCommand: ({ session_id, external_message_id }) => `again ${session_id} ${external_message_id}`,
  });
  await expect(talk.run()).rejects.toMatchObject({
    type: 'interrupted',
    info: { hint: expect.stringContaining('again s id-1'), details: { external_message_ids: ['id-1'] } },
  });
});

it.each(['before it begins', 'while the prompt is open'])('--timeout ends the conversation %s', async (moment) => {
  const interrupt = new AbortController();
  const expire = () => interrupt.abort(new LocalError('The command did not finish within --timeout.'));
  const server = await startFakeService((_, response) => sendJson(response, []));
  const talk = conversation(server.baseUrl, entering(' ', 'never'), { signal: interrupt.signal });
  if (moment === 'before it begins') expire();
  const running = talk.run();
  expire();
  await expect(running).rejects.toThrow('did not finish within --timeout');
});

it('the session is remembered once a message was sent', async () => {
  const server = await startFakeService(({ method }, response) => {
    if (method === 'POST') sendJson(response, { message_id: 'm1', created: true });
    else sendJson(response, []);
  });
  const remembered: string[] = [];
  async function* entries(): AsyncGenerator<string> {
    yield 'hello';
    await expect.poll(() => remembered).toEqual(['src s']);
  }
  const prompt = { ...entering(), entries: entries() };
  const talk = conversation(server.baseUrl, prompt, {
    remember: async ({ source_id, session_id }) => void remembered.push(`${source_id} ${session_id}`),
  });
  await talk.run();
});

describe('leaving', () => {
  /** Ids in order: `id-1`, `id-2`. */
  function counted(): () => string {
    let ids = 0;
    return () => {
      ids += 1;
      return `id-${ids}`;
    };
  }
  const resendCommand: OpenDeps['resendCommand'] = ({ external_message_id, text }) =>
    `again ${external_message_id} ${text}`;

  it('names the messages that failed, with the commands that send them again', async () => {
    let posts = 0;
    const server = await startFakeService(({ method }, response) => {
      if (method === 'POST') posts += 1;
      if (method === 'POST' && posts <= 2) sendJson(response, { detail: 'Not now.' }, 422);
      else if (method === 'POST') sendJson(response, { message_id: 'm1', created: true });
      else sendJson(response, []);
    });
    const talk = conversation(server.baseUrl, entering('one', 'two', '/help'), {
      newId: counted(),
      resendCommand,
    });
    await expect(talk.run()).rejects.toMatchObject({
      info: {
        status: 422,
        hint: expect.stringMatching(/These messages .*:\nagain id-1 one\nagain id-2 two$/),
        details: { external_message_ids: ['id-1', 'id-2'] },
      },
    });
    expect(posts).toBe(2);
  });

  it('names the messages, too, if the token is no longer accepted', async () => {
    let isRevoked = false;
    const server = await startFakeService(({ method }, response) => {
      if (method === 'POST') isRevoked = true;
      if (isRevoked) sendJson(response, { detail: 'Revoked.' }, 401);
      else sendJson(response, []);
    });
    const talk = conversation(server.baseUrl, entering('one'), { resendCommand });
    await expect(talk.run()).rejects.toMatchObject({
      info: { status: 401, hint: expect.stringMatching(/This message .*:\nagain id-1 one$/) },
    });
  });
});
