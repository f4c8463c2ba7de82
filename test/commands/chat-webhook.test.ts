import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { InterruptedError } from '../../src/errors.ts';
import { createChat, HISTORY } from '../support/chat.ts';
import { manualSignals, run } from '../support/run.ts';
import { type Service, service } from '../support/service.ts';
import { waitForPolls } from './polls.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** An agent's chat, and a port on which the sandbox delivers its replies. */
async function delivering() {
  const it: Service = await service();
  const chat = await createChat(it);
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}/hook`;
  expect((await it.admin('POST', '/webhooks', { url })).status).toBe(201);
  const session = ['--source', chat.source_id, '--session', 's1'];
  // Polling alone would take an hour.
  const webhook = ['--interval', '1h', '--webhook', port, '--webhook-path', '/hook'];
  return { it, env: it.env, chat, url, session, webhook };
}

describe('--webhook', () => {
  test('makes a tail show a reply as soon as it is delivered', async () => {
    const { it, env, chat, url, session, webhook } = await delivering();
    const running = run(['chat', 'tail', ...session, ...webhook, '--until-reply', '-o', 'json'], { env });
    await expect.poll(async () => (await it.received()).some(({ path }) => path.endsWith(HISTORY))).toBe(true);
    await chat.send('Hello!');
    const ran = await running;
    expect(ran).toMatchObject({ code: 0, stderr: `Webhooks are received at ${url}\n` });
    expect(ran.stdout).toContain('You said: Hello!');
  });

  test('makes a watch show a reply as soon as it is delivered, and trusts no content of a delivery', async () => {
    const { it, env, chat, url, session, webhook } = await delivering();
    await run(['chat', 'send', ...session, 'Hi!'], { env });
    const signals = manualSignals();
    const running = run(['chat', 'watch', ...webhook, '-o', 'json'], { env, signals });
    const deliver = async (): Promise<unknown> =>
      (await fetch(url, { method: 'POST', body: '{"text":"made up"}' }).catch(() => undefined))?.status;
    await expect.poll(deliver).toBe(204);
    await chat.send('Hello!');
    await expect.poll(async () => (await chat.history()).at(-1)?.text).toBe('You said: Hello!');
    // The second poll after the act starts after the response to the first was read.
    for (let round = 0; round < 2; round += 1) await waitForPolls(it, 1, deliver);
    signals.abort(new InterruptedError('Interrupted.'));
    const ran = await running;
    expect(ran.stdout).toContain('You said: Hello!');
    expect(ran.stdout).not.toContain('made up');
  });

  test.each([
    [
      ['tail', '--source', 'a', '--session', 's', '--webhook', '0', '--no-follow'],
      '--webhook and --no-follow cannot be combined',
    ],
    [['watch', '--webhook', '0', '--no-follow'], '--webhook and --no-follow cannot be combined'],
    [
      ['tail', '--source', 'a', '--session', 's', '--webhook', '70000'],
      '--webhook takes a whole number from 0 to 65535',
    ],
    [['watch', '--webhook-path', '/x'], '--webhook-path needs --webhook'],
    [['watch', '--webhook', '0', '--webhook-path', 'x'], '--webhook-path must begin with a slash'],
  ])('rejects %j', async (args, message) => {
    const { env } = await service();
    const ran = await run(['chat', ...args], { env });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });

  test('reports that the port is in use', async () => {
    const { env, url, session, webhook } = await delivering();
    const server = createServer().listen(Number(new URL(url).port), '127.0.0.1');
    await once(server, 'listening');
    const ran = await run(['chat', 'tail', ...session, ...webhook], { env });
    server.close();
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('Another program uses it') });
  });
});
