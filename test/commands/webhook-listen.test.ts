import { createHmac } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { run, tempDirectory } from '../support/run.ts';
import { deliver, SECRET, sign, startListening, startReceiver } from '../support/webhooks.ts';

const MESSAGE = {
  message_id: 'msg_1',
  session_id: 'anna',
  source_id: 'src_1',
  role: 'assistant',
  text: 'Hello',
  created_at: '2026-01-01T00:00:00.000Z',
};
const PAYLOAD = JSON.stringify({ type: 'message.completed', timestamp: MESSAGE.created_at, data: MESSAGE });
const STANDARD = ['--verify', 'standard-webhooks'];
const WITH_SECRET = { env: { PARTNER_WEBHOOK_SECRET: SECRET } };

async function post(url: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: 'POST', body, headers });
}

/** The names of the delivery files in a directory. */
function savedIn(directory: string): string[] {
  return readdirSync(directory).filter((name) => /\.(json|body)$/.test(name));
}

describe('the output of webhook listen', () => {
  test('recognizes a message by the contract, with its session, and labels it', async () => {
    const listening = await startListening(STANDARD, WITH_SECRET);
    expect(await deliver(listening.url, 'dlv_1', PAYLOAD)).toBe(200);
    expect(await listening.event(0)).toEqual({
      delivery_id: 'dlv_1',
      received_at: expect.stringMatching(/^\d{4}-.*Z$/),
      verification: 'verified',
      reason: null,
      forwarded: null,
      forward_status: null,
      ...MESSAGE,
      saved: null,
      headers: expect.objectContaining({ 'webhook-id': 'dlv_1', 'content-type': 'application/json' }),
      body: JSON.parse(PAYLOAD),
    });
  });

  test('shows the URL first, then each message as chat tail does, after its label, and what is none as it is', async () => {
    const env = { ...WITH_SECRET.env, PARTNER_OUTPUT: 'table' };
    const target = await startReceiver([200]);
    const listening = await startListening([...STANDARD, '--forward-to', target.url, '--exit-after', '3'], { env });
    await deliver(listening.url, 'a', PAYLOAD);
    await post(listening.url, 'unsigned\x1b[2J', { 'webhook-id': 'evil\x9b1m' });
    await deliver(listening.url, 'b', '{"event":"ping","pad":"\x7f"}');
    await deliver(listening.url, 'c', PAYLOAD.replace('"role":"assistant"', '"role":"user"'));
    expect(await listening.exited).toBe(0);
    expect(listening.lines.slice(1).toSorted()).toEqual([
      'unsigned (it has no webhook-signature header) evil\\x9b1m: unsigned\\x1b[2J',
      'verified, forwarded (200) [anna] assistant: Hello',
      'verified, forwarded (200) [anna] user: Hello',
      'verified, forwarded (200) b: {"event":"ping","pad":"\\u007f"}',
    ]);
  });

  test('has nothing of other paths, other methods, and long bodies, which are refused', async () => {
    const listening = await startListening(['--path', '/hooks/a']);
    const { href: root, port } = new URL('/', listening.url);
    expect((await run(['webhook', 'listen', '--port', port])).stderr).toContain('EADDRINUSE');
    expect(listening.url).toBe(`${root}hooks/a`);
    const long = Buffer.alloc(1024 * 1024 + 1);
    const sent = await Promise.all([post(root, 'x'), fetch(listening.url), post(listening.url, long)]);
    expect(sent.map(({ status }) => status)).toEqual([404, 405, 413]);
    expect(await listening.stop()).toBe(0);
    expect(listening.events).toEqual([]);
  });
});

describe('the verification of webhook listen', () => {
  test('responds 401 to a changed, an old, and an unsigned delivery, labels them, and neither saves nor forwards them', async () => {
    const directory = tempDirectory();
    const target = await startReceiver([200]);
    const args = [...STANDARD, '--save', directory, '--forward-to', target.url];
    const listening = await startListening(args, WITH_SECRET);
    const statuses = [
      (await post(listening.url, `${PAYLOAD} `, sign('a', PAYLOAD))).status,
      (await post(listening.url, PAYLOAD, sign('b', PAYLOAD, SECRET, Date.now() - 301_000))).status,
      (await post(listening.url, PAYLOAD)).status,
    ];
    expect(statuses).toEqual([401, 401, 401]);
    await listening.event(2);
    expect(listening.events.map(({ verification }) => verification)).toEqual(['failed', 'failed', 'unsigned']);
    expect(listening.events[1]?.reason).toContain('not within five minutes');
    expect(savedIn(directory)).toEqual([]);
    // A rejected delivery does not make a valid one with the same id a duplicate.
    expect(await deliver(listening.url, 'a', PAYLOAD)).toBe(200);
    await target.arrived(1);
    expect(target.received).toHaveLength(1);
  });

  test('supports other signature schemes by flags, with one of several secrets in a file', async () => {
    const flags = ['--header', 'X-Signature', '--prefix', 'v0=', '--encoding', 'base64', '--algorithm', 'sha512'];
    const signed = ['--signed-content', 'v0:{timestamp:X-Time}:{id:X-Id}:{body}'];
    const file = join(tempDirectory(), 'hook.key');
    writeFileSync(file, 'the old one\nkey\n');
    const listening = await startListening(['--verify', 'hmac', ...flags, ...signed, '--secret-file', file]);
    const time = String(Math.floor(Date.now() / 1000));
    const signature = createHmac('sha512', 'key').update(`v0:${time}:id-1:x`).digest('base64');
    const headers = { 'x-signature': `v0=${signature}`, 'x-time': time, 'x-id': 'id-1' };
    expect((await post(listening.url, 'x', headers)).status).toBe(200);
    expect(await listening.event(0)).toMatchObject({ delivery_id: 'id-1', verification: 'verified' });
    expect((await post(listening.url, 'x', { ...headers, 'x-id': 'id-2' })).status).toBe(401);
  });

  test('takes no id that the signature does not cover, so equal bodies are two deliveries', async () => {
    const env = { PARTNER_WEBHOOK_SECRET: 'key' };
    const listening = await startListening(['--verify', 'hmac', '--header', 'X-Signature'], { env });
    const headers = { 'x-signature': createHmac('sha256', 'key').update('x').digest('hex'), 'webhook-id': '1' };
    for (const _ of [1, 2]) expect((await post(listening.url, 'x', headers)).status).toBe(200);
    expect(await listening.stop()).toBe(0);
    expect(listening.events).toHaveLength(2);
  });

  test('exits with 2 before it listens for an unusable secret, and for flags that are invalid or contradict each other', async () => {
    for (const [args, message, secret = ''] of [
      [STANDARD, 'PARTNER_WEBHOOK_SECRET is empty'],
      [STANDARD, 'not one of Standard Webhooks', 'whsec_'],
      [['--prefix', 'x'], 'need --verify hmac'],
      [['--verify', 'hmac', '--header', 'x', '--signed-content', '{timestamp}'], '--signed-content has no {body}'],
      [['--forward-to', 'https://a:b@example.com/'], '--forward-to contains credentials'],
    ] as const) {
      const { code, stdout, stderr } = await run(['webhook', 'listen', ...args], {
        env: { PARTNER_WEBHOOK_SECRET: secret },
      });
      expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
    }
  });
});

describe('webhook listen --save', () => {
  test('writes the exact bytes to disk, readable only by their owner, before it responds', async () => {
    const directory = join(tempDirectory(), 'new', 'deliveries');
    const listening = await startListening(['--save', directory]);
    const body = Buffer.from([0, 1, 255, 13, 10]);
    expect((await post(listening.url, body, { 'webhook-id': 'a', 'X-Kept': 'yes' })).status).toBe(200);
    const names = savedIn(directory);
    expect(names).toHaveLength(2);
    const { saved, body: shown } = await listening.event(0);
    expect(shown).toEqual({ base64: body.toString('base64') });
    expect(readFileSync(String(saved)).equals(body)).toBe(true);
    const described = JSON.parse(readFileSync(String(saved).replace(/body$/, 'json'), 'utf8'));
    expect(described).toMatchObject({ delivery_id: 'a', verification: 'not-checked' });
    expect(described.headers).toContainEqual(['X-Kept', 'yes']);
    for (const name of names) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  });

  test('refuses a path that is no directory before it listens', async () => {
    const file = join(tempDirectory(), 'deliveries');
    writeFileSync(file, '');
    const { code, stdout, stderr } = await run(['webhook', 'listen', '--save', file]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: Cannot save deliveries in /);
  });

  test('drops a repeat by its id, and takes equal bodies without an id as two deliveries', async () => {
    const directory = tempDirectory();
    const listening = await startListening(['--save', directory]);
    for (const [body, headers] of [
      ['x', { 'webhook-id': 'a' }],
      ['changed', { 'webhook-id': 'a' }],
      ['y', {}],
      ['y', {}],
    ] as const)
      expect((await post(listening.url, body, { ...headers })).status).toBe(200);
    expect(await listening.stop()).toBe(0);
    expect(listening.events.map(({ body }) => body)).toEqual(['x', 'y', 'y']);
    expect(listening.stderr().match(/Dropped a repeat of delivery/g)).toHaveLength(1);
    expect(savedIn(directory)).toHaveLength(6);
  });

  test('keeps what another listener saves in the same directory at the same time', async () => {
    const directory = tempDirectory();
    const clock = { ...systemClock, now: () => 0 };
    const both = [
      await startListening(['--save', directory], { clock }),
      await startListening(['--save', directory], { clock }),
    ];
    const sent = both.map(({ url }) => post(url, 'x', { 'webhook-id': 'a' }));
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200]);
    const saved = await Promise.all(both.map(async ({ event }) => String((await event(0)).saved)));
    for (const path of saved) expect(readFileSync(path, 'utf8')).toBe('x');
    expect(savedIn(directory)).toHaveLength(4);
  });

  test('responds 500 to what cannot be saved, and accepts it when it is delivered again', async () => {
    const directory = tempDirectory();
    const listening = await startListening(['--save', directory]);
    const send = async () => (await post(listening.url, 'x', { 'webhook-id': 'a' })).status;
    renameSync(directory, `${directory}.away`);
    expect(await send()).toBe(500);
    renameSync(`${directory}.away`, directory);
    expect(listening.stderr()).toContain('Delivery a was not taken; the sender gets a 500');
    expect(await send()).toBe(200);
  });
});

describe('webhook listen --forward-to', () => {
  test('sends the target the exact bytes and the original headers, but no connection headers and no token', async () => {
    const target = await startReceiver([200]);
    const listening = await startListening([...STANDARD, '--forward-to', `${target.url}?key=1`], {
      env: { PARTNER_WEBHOOK_SECRET: SECRET, PARTNER_TOKEN: 'tok_secret_123' },
    });
    const signed = sign('a', PAYLOAD);
    const headers = { ...signed, 'X-Custom': 'kept', 'x-token': 'Bearer tok_secret_123', te: 'trailers' };
    expect((await post(listening.url, PAYLOAD, headers)).status).toBe(200);
    expect(await listening.event(0)).toMatchObject({ forwarded: true, forward_status: 200, saved: null });
    const [request] = target.received;
    expect(request?.path).toBe('/hooks?key=1');
    expect(request?.body).toBe(PAYLOAD);
    expect(request?.headers).toMatchObject({ 'x-custom': 'kept', ...signed, host: new URL(target.url).host });
    expect(request?.headers).not.toHaveProperty('x-token');
    expect(request?.headers).not.toHaveProperty('te');
    expect(listening.events[0]?.headers).not.toHaveProperty('x-token');
  });

  test('answers the sender with the status of the target, so that the sender repeats what failed', async () => {
    const target = await startReceiver([
      { status: 418, body: '\n I am a teapot.\r\nNot a pot.' },
      'cut',
      { status: 201, body: 'made' },
      200,
    ]);
    const directory = tempDirectory();
    const listening = await startListening(['--forward-to', target.url, '--save', directory]);
    const send = async () => (await post(listening.url, 'x', { 'webhook-id': 'a' })).status;
    expect([await send(), await send()]).toEqual([418, 502]);
    expect(savedIn(directory)).toHaveLength(2);
    expect([await send(), await send()]).toEqual([201, 201]);
    expect(listening.events.map(({ forward_status }) => forward_status)).toEqual([418, null, 201]);
    expect(listening.events.map(({ forwarded }) => forwarded)).toEqual([false, false, true]);
    expect(savedIn(directory)).toHaveLength(2);
    expect(listening.stderr()).toContain(
      'Delivery a was not forwarded: it responded with 418: "I am a teapot.". The sender',
    );
    rmSync(directory, { recursive: true });
    expect((await post(listening.url, 'z', { 'webhook-id': 'z' })).status).toBe(500);
    expect(target.received).toHaveLength(3);
  });

  test('forwards a delivery once although the sender repeats it while the target is busy, and cuts it at Ctrl-C', async () => {
    const gate = new EventEmitter();
    const target = await startReceiver((_, count) => (count === 1 ? once(gate, 'open').then(() => 204) : 'stall'));
    const listening = await startListening(['--forward-to', target.url]);
    const send = () => post(listening.url, 'x').then(({ status }) => status);
    const both = [send(), send()];
    await expect.poll(() => listening.stderr()).toContain('Dropped a repeat of delivery sha256:');
    await target.arrived(1);
    gate.emit('open');
    expect(await Promise.all(both)).toEqual([204, 204]);
    expect(target.received).toHaveLength(1);
    // The target stalls for ever: the sender gets a 502 at Ctrl-C, and repeats it.
    const cut = post(listening.url, 'x', { 'webhook-id': 'b' });
    await target.arrived(2);
    expect(await listening.stop()).toBe(0);
    expect((await cut).status).toBe(502);
  });
});

test('webhook listen --exit-after ends once so many deliveries are accepted, and with 11 if --timeout ends before', async () => {
  const target = await startReceiver([500, 200]);
  const listening = await startListening(['--forward-to', target.url, '--exit-after', '2']);
  const statuses: number[] = [];
  for (const body of ['one', 'two', 'three']) statuses.push((await post(listening.url, body)).status);
  expect(statuses).toEqual([500, 200, 200]);
  expect(await listening.exited).toBe(0);
  const { code, stderr } = await run(['webhook', 'listen', '--exit-after', '2', '--timeout', '1s']);
  expect({ code, stderr }).toEqual({ code: 11, stderr: expect.stringContaining('0 of 2 deliveries came') });
});
