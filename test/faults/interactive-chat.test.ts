import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createMessageFormatter } from '../../src/chat/format-message.ts';
import { InteractiveChat, type InteractiveChatDeps } from '../../src/chat/interactive-chat.ts';
import { systemClock } from '../../src/clock.ts';
import { InterruptedError, LocalError } from '../../src/errors.ts';
import type { PromptLine } from '../../src/output/prompt-line.ts';
import { createGate, type Gate, sendJson, startFakeService } from '../support/fake-service.ts';
import { client } from './http-client.ts';

const HOSTILE = '\u001b[2J\u001b[Hgone?\u001b]0;title\u0007 \u202eevil';

const TERMINAL = { columns: 80 };

/** A prompt that enters the given texts, each once something was shown above it. */
function entering(...entries: readonly string[]): PromptLine & { readonly shown: string[] } {
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
  return {
    shown,
    entries: typed(),
    printAbove(text) {
      shown.push(text);
      wake();
    },
    setLabel: () => undefined,
    nextLeaveKey: () => new Promise(() => undefined),
    close() {
      open = false;
      wake();
    },
  };
}

/** A conversation with a service, with defaults for what a test does not set. */
async function conversation(
  baseUrl: string,
  prompt: PromptLine,
  more: Partial<InteractiveChatDeps> = {},
  source_id = 'src',
): Promise<InteractiveChat> {
  const { interrupt = new AbortController().signal } = more;
  const parts = {
    http: client(baseUrl, { clock: systemClock, interrupt }).http,
    clock: systemClock,
    random: Math.random,
    interrupt,
    newId: () => 'id-1',
    renewSource: async () => undefined,
    resendCommand: () => '',
    formatMessage: await createMessageFormatter(false, TERMINAL),
    rememberSession: async () => undefined,
    terminal: TERMINAL,
    prompt,
  };
  return new InteractiveChat({ ...parts, ...more }, { source_id, session_id: 's' });
}

it('errors of the service and typed commands are sanitized before they reach the terminal', async () => {
  const server = await startFakeService((request, response) => {
    if (request.method === 'POST') sendJson(response, { message: HOSTILE }, 400);
    else sendJson(response, []);
  });
  const prompt = entering('hello', `/${HOSTILE}`, '/info');
  let ids = 0;
  const newId = (): string => {
    ids += 1;
    return `id-${ids}`;
  };
  const talk = await conversation(server.baseUrl, prompt, { newId }, `src${HOSTILE}`);
  await expect(talk.run()).rejects.toMatchObject({ info: { status: 400 } });
  expect(prompt.shown.join('\n')).toContain('gone?');
  for (const text of prompt.shown) expect(text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]|\p{Bidi_Control}/u);
});

it('a signal ends the conversation and prints the command that resends an unsent message', async () => {
  const interrupt = new AbortController();
  const server = await startFakeService(({ method }, response) => {
    // The message never gets a response.
    if (method === 'POST') interrupt.abort(new InterruptedError('Interrupted.', 143));
    else sendJson(response, []);
  });
  const talk = await conversation(server.baseUrl, entering('hello', 'never'), {
    interrupt: interrupt.signal,
    resendCommand: ({ session_id, external_message_id }) => `again ${session_id} ${external_message_id}`,
  });
  await expect(talk.run()).rejects.toMatchObject({
    type: 'interrupted',
    info: { hint: expect.stringContaining('again s id-1'), details: { external_message_ids: ['id-1'] } },
  });
});

it('SIGTERM ends the conversation with 143', async () => {
  const interrupt = new AbortController();
  const server = await startFakeService((_, response) => sendJson(response, []));
  const talk = await conversation(server.baseUrl, entering(' ', 'never'), { interrupt: interrupt.signal });
  const running = talk.run();
  interrupt.abort(new InterruptedError('Interrupted.', 143));
  await expect(running).rejects.toMatchObject({ exitCode: 143 });
});

it.each(['before it begins', 'while the prompt is open'])('--timeout ends the conversation %s', async (moment) => {
  const interrupt = new AbortController();
  const expire = () => interrupt.abort(new LocalError('The command did not finish within --timeout.'));
  const server = await startFakeService((_, response) => sendJson(response, []));
  const talk = await conversation(server.baseUrl, entering(' ', 'never'), { interrupt: interrupt.signal });
  if (moment === 'before it begins') expire();
  const running = talk.run();
  expire();
  await expect(running).rejects.toThrow('did not finish within --timeout');
});

it('a person can switch to another session while a message is being sent', async () => {
  let release = (): void => undefined;
  const asked = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = await startFakeService((request, response) => {
    if (request.method === 'POST') {
      void asked.then(() => sendJson(response, { message_id: 'm1', created: true }));
      return;
    }
    if (request.path.includes('session_id=other')) release();
    sendJson(response, []);
  });
  async function* entries(): AsyncGenerator<string> {
    yield 'hello';
    yield '/session other';
  }
  const talk = await conversation(server.baseUrl, { ...entering(), entries: entries() });
  await talk.run();
});

it('the sessions that messages were sent to, or read in, are remembered', async () => {
  const server = await startFakeService(({ method, path }, response) => {
    if (method === 'POST') sendJson(response, { message_id: 'm1', created: true });
    else if (path.includes('session_id=read')) sendJson(response, [{ message_id: 'm2', role: 'user', text: 'Hi!' }]);
    else sendJson(response, []);
  });
  const remembered: string[] = [];
  async function* entries(): AsyncGenerator<string> {
    yield 'hello';
    await expect.poll(() => remembered).toEqual(['src s']);
    yield '/session empty';
    yield '/session read';
    await expect.poll(() => remembered).toEqual(['src s', 'src read']);
  }
  const prompt = { ...entering(), entries: entries() };
  const talk = await conversation(server.baseUrl, prompt, {
    rememberSession: async ({ source_id, session_id }) => void remembered.push(`${source_id} ${session_id}`),
  });
  await talk.run();
});

it('a person who leaves while the session is recorded on a slow disk waits for the record', async () => {
  const server = await startFakeService(({ method }, response) => {
    sendJson(response, method === 'POST' ? { message_id: 'm1', created: true } : []);
  });
  const [disk, order]: [Gate, string[]] = [createGate(), []];
  async function* entries(): AsyncGenerator<string> {
    yield 'hello';
    await disk.arrived();
  }
  const talk = await conversation(
    server.baseUrl,
    { ...entering(), entries: entries(), close: () => void order.push('left') },
    {
      async rememberSession() {
        await disk.pass();
        order.push('recorded');
      },
    },
  );
  const running = talk.run();
  await disk.arrived();
  // Everything that does not wait for the disk has its turn.
  await setImmediate();
  disk.open();
  await running;
  expect(order).toEqual(['recorded', 'left']);
});

it('a message is not shown again while its session is recorded on a slow disk', async () => {
  let [isSent, reads] = [false, 0];
  const server = await startFakeService((request, response) => {
    if (request.method === 'POST') {
      isSent = true;
      return sendJson(response, { message_id: 'm1', created: true });
    }
    reads += isSent ? 1 : 0;
    return sendJson(response, isSent ? [{ message_id: 'm1', role: 'user', text: 'hello there' }] : []);
  });
  let isRecorded = false;
  async function* entries(): AsyncGenerator<string> {
    yield 'hello there';
    await expect.poll(() => isRecorded, { timeout: 10_000 }).toBe(true);
  }
  let records = 0;
  async function rememberSession(): Promise<void> {
    records += 1;
    if (records > 1) return;
    // The first of two reads is processed before the second one begins.
    await expect.poll(() => reads, { timeout: 10_000 }).toBeGreaterThan(1);
    isRecorded = true;
  }
  const prompt = { ...entering(), entries: entries() };
  const talk = await conversation(server.baseUrl, prompt, { rememberSession });
  await talk.run();
  expect(prompt.shown.join('\n')).not.toContain('hello there');
});

it('no reply is expected when a message is resent after its reply', async () => {
  let posts = 0;
  const server = await startFakeService((request, response) => {
    if (request.method === 'POST') {
      posts += 1;
      sendJson(response, { message_id: 'm1', created: posts === 1 });
    } else {
      sendJson(response, posts === 0 ? [] : [{ message_id: 'm2', session_id: 's', role: 'assistant', text: 'Yes?' }]);
    }
  });
  const labels: string[] = [];
  const prompt = { ...entering('hello', '/resend'), setLabel: (text: string) => void labels.push(text) };
  const talk = await conversation(server.baseUrl, prompt);
  await talk.run();
  expect(posts).toBe(2);
  expect(prompt.shown.join('\n')).toContain('registered before');
  expect(labels).toHaveLength(2);
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
  const resendCommand: InteractiveChatDeps['resendCommand'] = ({ external_message_id, text }) =>
    `again ${external_message_id} ${text}`;

  it('names the messages that failed before and were not resent, with the commands that do so', async () => {
    let posts = 0;
    const server = await startFakeService(({ method }, response) => {
      if (method === 'POST') posts += 1;
      if (method === 'POST' && posts <= 3) sendJson(response, { detail: 'Not now.' }, 422);
      else if (method === 'POST') sendJson(response, { message_id: 'm1', created: false });
      else sendJson(response, []);
    });
    const prompt = entering('one', 'two', 'three', '/resend');
    const talk = await conversation(server.baseUrl, prompt, { newId: counted(), resendCommand });
    await expect(talk.run()).rejects.toMatchObject({
      info: {
        status: 422,
        hint: expect.stringMatching(/These messages .*:\nagain id-1 one\nagain id-2 two$/),
        details: { external_message_ids: ['id-1', 'id-2'] },
      },
    });
    expect(posts).toBe(4);
  });

  it('names the messages, too, if the token is no longer accepted', async () => {
    let isRevoked = false;
    const server = await startFakeService(({ method }, response) => {
      if (method === 'POST') isRevoked = true;
      if (isRevoked) sendJson(response, { detail: 'Revoked.' }, 401);
      else sendJson(response, []);
    });
    const talk = await conversation(server.baseUrl, entering('one'), { resendCommand });
    await expect(talk.run()).rejects.toMatchObject({
      info: { status: 401, hint: expect.stringMatching(/This message .*:\nagain id-1 one$/) },
    });
  });

  it('names the messages without a response if a read failed', async () => {
    let isAsked = false;
    const server = await startFakeService(({ method }, response) => {
      // The response to the message arrives after the token was rejected for the read.
      if (method === 'POST') isAsked = true;
      else if (isAsked) sendJson(response, { detail: 'Revoked.' }, 401);
      else sendJson(response, []);
    });
    const interrupt = new AbortController();
    const prompt = entering('one');
    const parts = { resendCommand, interrupt: interrupt.signal };
    const talk = await conversation(server.baseUrl, prompt, parts);
    const running = talk.run();
    await expect.poll(() => prompt.shown.join('\n')).toContain('Waiting until a message is registered');
    interrupt.abort(new InterruptedError('Interrupted.'));
    await expect(running).rejects.toMatchObject({
      info: { status: 401, hint: expect.stringContaining('again id-1 one') },
    });
  });
});
