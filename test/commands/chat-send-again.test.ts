import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createChat, MESSAGE } from '../support/chat.ts';
import { run, tempDirectory, tinyRandom } from '../support/run.ts';
import { service, write } from '../support/service.ts';
import { recordTypes } from '../support/state-file.ts';

const POST = `POST ${MESSAGE}`;
/** The message is registered, and the response is lost. */
const LOST = { kind: 'reset', stage: 'after', on: POST };

interface Sent {
  readonly external_message_id: string;
  readonly created: boolean;
}

async function startChat() {
  const sandbox = await service();
  const chat = await createChat(sandbox);
  const { env } = sandbox;
  const send = (text: string, ...more: string[]) =>
    run(['chat', 'send', '--source', chat.source_id, '--session', 's1', '-o', 'json', ...more, text], {
      env,
      random: tinyRandom,
    });
  /** Sends a text under the faults, and returns the external id from the error. */
  const fail = async (text: string, ...faults: object[]): Promise<string> => {
    await sandbox.faults(...faults);
    const ran = await send(text, '--retries', faults.length > 1 ? '1' : '0');
    await sandbox.faults();
    expect(ran.code).not.toBe(0);
    return String(Object(ran.error().details).external_message_id);
  };
  const registered = async (): Promise<(string | null)[]> =>
    (await chat.history()).filter(({ role }) => role === 'user').map((entry) => entry.external_message_id);
  return {
    sandbox,
    chat,
    env,
    send,
    fail,
    registered,
    state: join(env.HOME ?? '', '.local/state/partnerctl/state.jsonl'),
  };
}

describe('chat send after a lost response', () => {
  test('sends the message under the same id, says so, and registers nothing new', async () => {
    const { send, fail, registered, chat } = await startChat();
    const id = await fail('Hello!', LOST);
    const again = await send('Hello!');
    expect(again.json()).toMatchObject({ external_message_id: id, created: false, source_id: chat.source_id });
    expect(again.stderr).toMatch(
      /^note: this text was sent to session s1 before, at 20.*--again\nnote: .*already exists/,
    );
    expect(await registered()).toEqual([id]);
  });

  test('registers a message that never arrived under its original id', async () => {
    const { send, fail, registered } = await startChat();
    const id = await fail('Hello!', { kind: 'reset', on: POST });
    expect((await send('Hello!')).json()).toMatchObject({ external_message_id: id, created: true });
    expect(await registered()).toEqual([id]);
  });

  test('sends a new message once the earlier one is acknowledged', async () => {
    const { send, fail, registered } = await startChat();
    const id = await fail('Hello!', LOST);
    await send('Hello!');
    const next = await send('Hello!');
    expect(next).toMatchObject({ code: 0, stderr: '' });
    const { external_message_id, created } = next.json<Sent>();
    expect(created).toBe(true);
    expect(await registered()).toEqual([id, external_message_id]);
    expect(external_message_id).not.toBe(id);
  });

  test('treats the message as settled once the command in the hint is acknowledged', async () => {
    const { send, fail, registered } = await startChat();
    const id = await fail('Hello!', LOST);
    expect((await send('Hello!', '--external-id', id)).json()).toMatchObject({ created: false });
    expect((await send('Hello!')).json()).toMatchObject({ created: true });
    expect(await registered()).toHaveLength(2);
  });

  test('does not treat the message as settled if the command in the hint is rejected', async () => {
    const { sandbox, send, fail, registered } = await startChat();
    const id = await fail('Hello!', LOST);
    await sandbox.faults({ kind: 'status', status: 401, on: POST, times: 1 });
    expect((await send('Hello!', '--external-id', id)).code).toBe(3);
    expect((await send('Hello!')).json()).toMatchObject({ external_message_id: id, created: false });
    expect(await registered()).toEqual([id]);
  });

  test('reuses the ids of several lost responses, the oldest first', async () => {
    const { sandbox, send, registered } = await startChat();
    await sandbox.faults(LOST);
    const lost = await Promise.all([send('Hello!', '--retries', '0'), send('Hello!', '--retries', '0')]);
    await sandbox.faults();
    const ids = lost.map((ran) => Object(ran.error().details).external_message_id);
    const repeated = [(await send('Hello!')).json<Sent>(), (await send('Hello!')).json<Sent>()];
    expect(repeated.map(({ external_message_id }) => external_message_id).toSorted()).toEqual(ids.toSorted());
    expect((await registered()).toSorted()).toEqual(ids.toSorted());
  });

  test('repeats each of several lost messages once, even if all are repeated concurrently', async () => {
    const { sandbox, send, registered } = await startChat();
    const all = () => Promise.all(['hi', 'hi', 'hi'].map((text) => send(text, '--retries', '0')));
    await sandbox.faults({ kind: 'reset', on: POST });
    const ids = (await all()).map((ran) => Object(ran.error().details).external_message_id);
    await sandbox.faults();
    for (const ran of await all()) expect(ran.json()).toMatchObject({ created: true });
    expect((await registered()).toSorted()).toEqual(ids.toSorted());
  });

  test('with --again, sends a new message, and settles the earlier one', async () => {
    const { send, fail, registered } = await startChat();
    const id = await fail('Hello!', LOST);
    expect(await send('Hello!', '--again')).toMatchObject({ code: 0, stderr: '' });
    expect(await send('Hello!')).toMatchObject({ code: 0, stderr: '' });
    const all = await registered();
    expect(new Set(all).size).toBe(3);
    expect(all[0]).toBe(id);
  });

  test('reuses an id only for the same text to the same session and service', async () => {
    const { sandbox, send, fail, registered, chat, env } = await startChat();
    const id = await fail('Hello!', LOST);
    expect((await send('Hello')).stderr).toBe('');
    const elsewhere = ['chat', 'send', '--source', chat.source_id, '--session', 's2', 'Hello!'];
    expect((await run(elsewhere, { env })).stderr).toBe('');
    const other = await service();
    const otherEnv = { ...other.env, HOME: env.HOME ?? '' };
    const there = ['chat', 'send', '--source', (await createChat(other)).source_id, '--session', 's1', 'Hello!'];
    expect((await run(there, { env: otherEnv })).stderr).toBe('');
    await sandbox.forget();
    expect((await registered())[0]).toBe(id);
  });
});

describe('chat send', () => {
  test.each([
    ['was refused', [{ kind: 'status', status: 422, on: POST }], false],
    ['failed', [{ kind: 'status', status: 503, on: POST }], true],
    [
      'was refused after a lost response',
      [
        { ...LOST, times: 1 },
        { kind: 'status', status: 402, on: POST },
      ],
      true,
    ],
  ])('after a message that %s, reuses its id: %j', async (_, faults, isRepeated) => {
    const { send, fail } = await startChat();
    const id = await fail('Hello!', ...faults);
    const again = await send('Hello!');
    expect(again.json<Sent>().external_message_id === id).toBe(isRepeated);
    expect(again.stderr !== '').toBe(isRepeated);
  });

  test('registers one message per command if the same text is sent concurrently', async () => {
    const { send, registered } = await startChat();
    const all = await Promise.all(['hi', 'hi', 'hi'].map((text) => send(text)));
    for (const ran of all) expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(new Set(await registered()).size).toBe(3);
  });

  test('stores ids and hashes in the state file, and no text', async () => {
    const { send, fail, state } = await startChat();
    await fail('A secret word', LOST);
    await send('A secret word');
    const text = readFileSync(state, 'utf8');
    expect((await recordTypes(state)).filter((type) => type.startsWith('message.'))).toEqual(
      ['sending', 'unknown', 'sending', 'sent'].map((kind) => `message.${kind}`),
    );
    expect(text).not.toMatch(/secret|word/);
  });

  test('works without a usable state file, and warns unless the id is given', async () => {
    const { send, registered } = await startChat();
    const unusable = join(write('file', ''), 'state.jsonl');
    const warned = await send('Hello!', '--state', unusable);
    expect(warned).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^warning: .*\. If this command .*--external-id prevents that/),
    });
    expect(await send('Hello!', '--state', unusable, '--external-id', 'mine')).toMatchObject({ code: 0, stderr: '' });
    expect(await send('Hello!', '--state', tempDirectory())).toMatchObject({ code: 0 });
    expect(await registered()).toHaveLength(3);
    expect((await send('Hello!', '--state', '')).code).toBe(2);
  });

  test('rejects --again together with --external-id', async () => {
    const { send, registered } = await startChat();
    expect((await send('Hello!', '--again', '--external-id', 'mine')).code).toBe(2);
    expect(await registered()).toEqual([]);
  });
});
