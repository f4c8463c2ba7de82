import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startListening } from '../support/listening.ts';
import { fasterClock, run, tempDirectory } from '../support/run.ts';
import { deliver, SECRET, sign, startReceiver } from '../support/webhook-receiver.ts';

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
  return readdirSync(directory).filter((name) => /\.(json|body)$/.test(name) && !name.startsWith('listening-'));
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
    expect(await listening.stop()).toBe(0);
  });

  test('shows the URL first, then each message as chat tail does, after its label', async () => {
    const env = { ...WITH_SECRET.env, PARTNER_OUTPUT: 'table' };
    const target = await startReceiver([200]);
    const listening = await startListening([...STANDARD, '--forward-to', target.url, '--exit-after', '3'], { env });
    await deliver(listening.url, 'a', PAYLOAD);
    await post(listening.url, 'unsigned\x1b[2J', { 'webhook-id': 'evil\x9b1m' });
    await deliver(listening.url, 'b', `{"event":"ping","pad":"\x7f${'x'.repeat(3_000)}"}`);
    await deliver(listening.url, 'c', PAYLOAD.replace('"role":"assistant"', '"role":"user"'));
    expect(await listening.exited).toBe(0);
    expect(listening.lines.slice(1).toSorted()).toEqual([
      'unsigned (it has no webhook-signature header) evil\\x9b1m: unsigned\\x1b[2J',
      'verified, forwarded (200) [anna] assistant: Hello',
      'verified, forwarded (200) [anna] user: Hello',
      expect.stringMatching(
        /^verified, forwarded \(200\) b: \{"event":"ping","pad":"\\u007fx+… \(\d+ more characters; -o json shows them\)$/,
      ),
    ]);
  });

  test('has one row of cells per delivery without a terminal', async () => {
    const listening = await startListening([], { env: { PARTNER_OUTPUT: 'tsv' } });
    await post(listening.url, PAYLOAD, { 'webhook-id': 'a' });
    await post(listening.url, '{"event":"ping"}', { 'webhook-id': 'b' });
    await expect.poll(() => listening.lines.length).toBe(3);
    expect(listening.lines.slice(1).map((line) => line.split('\t').slice(1))).toEqual([
      ['not-checked', 'a', 'anna', 'msg_1', 'assistant', 'Hello'],
      ['not-checked', 'b', '', '', '', '{"event":"ping"}'],
    ]);
  });

  test('shows what is not a message as it is: JSON, text, or bytes', async () => {
    const listening = await startListening([]);
    await post(listening.url, '{"event":"ping","n":12345678901234567890}', { 'webhook-id': 'a' });
    await post(listening.url, 'plain text', { 'webhook-id': 'b' });
    await post(listening.url, Buffer.from([0xff, 0xfe]), { 'webhook-id': 'c' });
    expect(await listening.event(2)).toMatchObject({ body: { base64: '//4=' }, message_id: null, role: null });
    expect(listening.events.map(({ verification }) => verification)).toEqual(Array(3).fill('not-checked'));
    expect(listening.events[1]?.body).toBe('plain text');
  });

  test('shows the port and the path from the flags', async () => {
    const first = await startListening(['--path', '/hooks/a']);
    const { port, pathname } = new URL(first.url);
    expect(pathname).toBe('/hooks/a');
    await first.stop();
    const second = await startListening(['--port', port]);
    expect(new URL(second.url).port).toBe(port);
    expect((await run(['webhook', 'listen', '--port', port])).stderr).toContain('Another program uses it.');
  });

  test('is buffered within a memory limit while nobody reads it, and shown later', async () => {
    let read = (): void => undefined;
    const reader = new Promise<void>((resolve) => {
      read = resolve;
    });
    const listening = await startListening([], { reader });
    const send = (id: number) => post(listening.url, Buffer.alloc(1024 * 1024, 'x'), { 'webhook-id': String(id) });
    let accepted = 0;
    while ((await send(accepted)).status === 200) accepted += 1;
    expect(accepted).toBeGreaterThan(10);
    expect(accepted).toBeLessThan(20);
    expect((await send(accepted)).status).toBe(503);
    read();
    await listening.event(accepted - 1);
    expect((await send(accepted)).status).toBe(200);
  });

  test('counts requests for other paths, and does not show each', async () => {
    const listening = await startListening([]);
    for (let count = 0; count < 12; count += 1) await post(new URL('/', listening.url).href, 'x');
    expect(await listening.stop()).toBe(0);
    expect(listening.events).toEqual([]);
    expect(listening.stderr().match(/refused/g)).toHaveLength(2);
    expect(listening.stderr()).toContain(
      '1 request was refused because of the path, the method, or the size (404: 1).',
    );
    expect(listening.stderr()).toContain('10 requests were refused');
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
    expect(listening.events.map(({ reason }) => reason)).toEqual([
      'the signature does not match: the secret differs, or the delivery was changed',
      expect.stringContaining('5 minutes are allowed'),
      'it has no webhook-signature header',
    ]);
    expect(savedIn(directory)).toEqual([]);
    // A rejected delivery does not make a valid one with the same id a duplicate.
    expect(await deliver(listening.url, 'a', PAYLOAD)).toBe(200);
    await target.arrived(1);
    expect(target.received).toHaveLength(1);
  });

  test("measures the tolerance with the tool's clock", async () => {
    const clock = { ...fasterClock(1), now: () => Date.now() - 3_600_000 };
    const listening = await startListening(STANDARD, { ...WITH_SECRET, clock });
    expect((await post(listening.url, PAYLOAD, sign('a', PAYLOAD))).status).toBe(401);
    expect((await post(listening.url, PAYLOAD, sign('a', PAYLOAD, SECRET, clock.now()))).status).toBe(200);
  });

  test('takes the secret from a file or standard input, and accepts several, one per line', async () => {
    const file = join(tempDirectory(), 'hook.key');
    const old = `whsec_${Buffer.from('the old secret, still valid').toString('base64')}`;
    writeFileSync(file, `${SECRET}\n${old}\n`);
    const fromFile = await startListening([...STANDARD, '--secret-file', file]);
    expect(await deliver(fromFile.url, 'a', 'x')).toBe(200);
    expect(await deliver(fromFile.url, 'b', 'x', old)).toBe(200);
    const fromStdin = await startListening([...STANDARD, '--secret-file', '-'], { stdin: `${SECRET}\n` });
    expect(await deliver(fromStdin.url, 'a', 'x')).toBe(200);
    expect(await deliver(fromStdin.url, 'b', 'x', old)).toBe(401);
  });

  test('prints the secret with --print-secret, or generates a valid one', async () => {
    const { stdout } = await run(['webhook', 'listen', ...STANDARD, '--print-secret', '--timeout', '1s', '-o', 'json']);
    const made: string = JSON.parse(stdout).webhook_secret;
    expect(made).toMatch(/^whsec_[\w+/]{43}=$/);
    const given = await run(['webhook', 'listen', ...STANDARD, '--print-secret', '--timeout', '1s'], WITH_SECRET);
    expect(given.stdout.split('\n')[1]).toBe(SECRET);
    const hidden = await run(['webhook', 'listen', ...STANDARD, '--timeout', '1s', '-o', 'json'], WITH_SECRET);
    expect(JSON.parse(hidden.stdout)).toEqual({ url: expect.any(String) });
  });

  test('supports other signature schemes by flags', async () => {
    const flags = ['--header', 'X-Signature', '--prefix', 'v0=', '--encoding', 'base64', '--algorithm', 'sha512'];
    const listening = await startListening(
      ['--verify', 'hmac', ...flags, '--signed-content', 'v0:{timestamp:X-Time}:{id:X-Id}:{body}'],
      { env: { PARTNER_WEBHOOK_SECRET: 'key' } },
    );
    const time = String(Math.floor(Date.now() / 1000));
    const signature = createHmac('sha512', 'key').update(`v0:${time}:id-1:x`).digest('base64');
    const headers = { 'x-signature': `v0=${signature}`, 'x-time': time, 'x-id': 'id-1' };
    expect((await post(listening.url, 'x', headers)).status).toBe(200);
    expect(await listening.event(0)).toMatchObject({ delivery_id: 'id-1', verification: 'verified' });
    for (const name of Object.keys(headers)) {
      expect((await post(listening.url, 'x', { ...headers, [name]: 'v0=1' })).status).toBe(401);
    }
  });

  test.each([
    [[], {}, 'needs the secret'],
    [[], { PARTNER_WEBHOOK_SECRET: '' }, 'from PARTNER_WEBHOOK_SECRET is empty'],
    [[], { PARTNER_WEBHOOK_SECRET: ' \n ' }, 'from PARTNER_WEBHOOK_SECRET is empty'],
    [['--secret-file', '/dev/null'], { PARTNER_WEBHOOK_SECRET: SECRET }, 'from --secret-file /dev/null is empty'],
    [['--secret-file', '/nonexistent'], {}, 'there is no such file'],
    [['--secret-file', '-'], {}, 'from standard input is empty'],
    [[], { PARTNER_WEBHOOK_SECRET: 'whsec_' }, 'not one of Standard Webhooks'],
  ])('exits with 2 at the start for an unusable secret: %j %j', async (args, env, message) => {
    const { code, stdout, stderr } = await run(['webhook', 'listen', ...STANDARD, ...args], { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  test.each([
    [['--secret-file', 'x'], '--secret-file needs --verify'],
    [['--prefix', 'x'], '--prefix can only be used with --verify hmac'],
    [['--verify', 'hmac'], '--header is missing'],
    [['--verify', 'hmac', '--header', 'a b'], '--header is not a valid header name'],
    [['--verify', 'hmac', '--header', 'x', '--signed-content', '{timestamp}'], '--signed-content has no {body}'],
    [['--verify', 'hmac', '--header', 'x', '--signed-content', '{body}{nonce}'], 'unknown placeholder: {nonce}'],
    [['--print-secret'], '--print-secret needs --verify'],
    [['--relay-status'], '--relay-status needs --forward-to'],
    [['--forward-to', 'http://example.com/'], '--forward-to uses plain http'],
    [['--forward-to', 'https://a:b@example.com/'], '--forward-to contains credentials'],
    [['--forward-to', 'localhost:3000'], '--forward-to is not a URL'],
    [['--forward-to', 'http://localhost:4310/', '--port', '4310'], 'use the same port'],
    [['--path', 'hooks'], '--path must begin with a slash'],
    [['--save', ''], '--save is empty'],
    [['--exit-after', '0'], '--exit-after'],
  ])('rejects %j before it listens', async (args, message) => {
    const { code, stdout, stderr } = await run(['webhook', 'listen', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
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
    const { saved } = await listening.event(0);
    expect(readFileSync(String(saved)).equals(body)).toBe(true);
    const described = JSON.parse(readFileSync(String(saved).replace(/body$/, 'json'), 'utf8'));
    expect(described).toMatchObject({ delivery_id: 'a', verification: 'not-checked', bytes: 5, forwarded: null });
    expect(described.headers).toContainEqual(['X-Kept', 'yes']);
    for (const name of names) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  });

  test('drops a duplicate by its id, even after a restart, or by its bytes without an id', async () => {
    const directory = tempDirectory();
    for (const [id, body] of [
      ['webhook-id', 'x'],
      ['x-other', 'y'],
    ] as const) {
      const first = await startListening(['--save', directory]);
      const send = (url: string) => post(url, body, { [id]: 'a' }).then(({ status }) => status);
      expect([await send(first.url), await send(first.url)]).toEqual([200, 200]);
      await first.stop();
      const second = await startListening(['--save', directory]);
      expect(await send(second.url)).toBe(200);
      expect(await second.stop()).toBe(0);
      expect([first.events.length, second.events.length]).toEqual([1, 0]);
      expect(second.stderr()).toContain('Dropped a repeat of delivery');
    }
    expect(savedIn(directory)).toHaveLength(4);
  });

  test('responds 500 to what cannot be saved, and accepts it when it is delivered again', async () => {
    const directory = tempDirectory();
    const listening = await startListening(['--save', directory]);
    renameSync(directory, `${directory}.away`);
    expect((await post(listening.url, 'x', { 'webhook-id': 'a' })).status).toBe(500);
    renameSync(`${directory}.away`, directory);
    expect(listening.stderr()).toContain('Delivery a could not be saved, so the sender got a 500');
    expect((await post(listening.url, 'x', { 'webhook-id': 'a' })).status).toBe(200);
    await listening.event(0);
  });

  test('starts on the same port and path despite the files of a killed listener', async () => {
    const directory = tempDirectory();
    const claim = join(directory, `listening-${crypto.randomUUID()}.json`);
    const first = await startListening(['--path', '/hooks']);
    await first.stop();
    writeFileSync(claim, JSON.stringify({ url: first.url }));
    const second = await startListening(['--path', '/hooks', '--port', new URL(first.url).port, '--save', directory]);
    expect(await deliver(second.url, 'a', 'x')).toBe(200);
    expect(existsSync(claim)).toBe(false);
  });

  test('rejects a directory that is unusable, or that another listener uses', async () => {
    const parent = tempDirectory();
    writeFileSync(join(parent, 'file'), '');
    const { code, stderr } = await run(['webhook', 'listen', '--save', join(parent, 'file')]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('Cannot save deliveries in') });
    const directory = join(parent, 'deliveries');
    mkdirSync(directory);
    // The file of a killed listener.
    writeFileSync(join(directory, `listening-${crypto.randomUUID()}.json`), '{"url":"http://127.0.0.1:9/x"}');
    const first = await startListening(['--save', directory]);
    const second = await run(['webhook', 'listen', '--save', directory]);
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('Another `webhook listen` uses') });
    // As many connections as it accepts: it closes further ones immediately.
    const { hostname, port } = new URL(first.url);
    const idle = Array.from({ length: 100 }, () => connect(Number(port), hostname));
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    const third = await run(['webhook', 'listen', '--save', directory, '--timeout', '1s']);
    expect(third).toMatchObject({ code: 1, stderr: expect.stringContaining('Another `webhook listen` uses') });
    for (const socket of idle) socket.destroy();
    await first.stop();
    expect(readdirSync(directory)).toEqual([]);
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
    expect(request?.headers).toMatchObject({
      'x-custom': 'kept',
      ...signed,
      host: new URL(target.url).host,
    });
    expect(request?.headers).not.toHaveProperty('x-token');
    expect(request?.headers).not.toHaveProperty('te');
    expect(listening.events[0]?.headers).not.toHaveProperty('x-token');
  });

  test('responds immediately, and retries the target until it accepts the delivery', async () => {
    const target = await startReceiver(['cut', 503, 503, 204]);
    const listening = await startListening(['--forward-to', target.url], { clock: fasterClock(20) });
    expect((await post(listening.url, 'x', { 'webhook-id': 'a' })).status).toBe(200);
    await target.arrived(4);
    expect(await listening.event(0)).toMatchObject({ forwarded: false, forward_status: null });
    await expect.poll(() => listening.stderr()).toContain('Delivery a was forwarded on attempt 4.');
    expect(listening.stderr()).toContain('Delivery a was not forwarded: it closed the connection. Trying again.');
    expect(await listening.stop()).toBe(0);
  });

  test('reports what is pending at Ctrl-C; the next run forwards it, and drops its duplicates', async () => {
    const env = { HOME: tempDirectory() };
    const target = await startReceiver([200]);
    await target.close();
    const first = await startListening(['--forward-to', target.url], { env });
    expect((await post(first.url, 'one', { 'webhook-id': 'a' })).status).toBe(200);
    await first.event(0);
    expect(await first.stop()).toBe(130);
    expect(first.stderr()).toContain('Interrupted: 1 delivery is not forwarded yet.');
    await target.restart();
    const second = await startListening(['--forward-to', target.url], { env });
    await target.arrived(1);
    expect((await post(second.url, 'one', { 'webhook-id': 'a' })).status).toBe(200);
    expect(await second.stop()).toBe(0);
    expect(second.stderr()).toContain('1 delivery of an earlier run');
    const third = await startListening(['--forward-to', target.url], { env });
    expect((await post(third.url, 'one', { 'webhook-id': 'a' })).status).toBe(200);
    expect(await third.stop()).toBe(0);
    expect(target.received.map(({ body }) => body)).toEqual(['one']);
  });

  test.each([
    ['at once', [], 200],
    ['with the answer of the target', ['--relay-status'], 201],
  ])(
    'does not resend what the target accepted if that cannot be recorded; the sender gets %s',
    async (_, flags, status) => {
      const directory = join(tempDirectory(), 'deliveries');
      const target = await startReceiver((_, count) => {
        const [pending = ''] = savedIn(directory).filter((name) => name.endsWith('.pending.json'));
        // Nothing can be renamed to the name of a directory.
        if (count === 1) mkdirSync(join(directory, pending.replace('.pending', '')));
        return 201;
      });
      const args = ['--save', directory, '--forward-to', target.url, '--exit-after', '2', ...flags];
      const listening = await startListening(args);
      expect(await deliver(listening.url, 'dlv_1', PAYLOAD)).toBe(status);
      expect(await listening.event(0)).toMatchObject({ forwarded: true, forward_status: 201 });
      expect(await deliver(listening.url, 'dlv_1', PAYLOAD)).toBe(200);
      expect(await deliver(listening.url, 'dlv_2', PAYLOAD)).toBe(status);
      expect(await listening.exited).toBe(0);
      expect(target.received.map(({ headers }) => headers['webhook-id'])).toEqual(['dlv_1', 'dlv_2']);
      expect(listening.stderr()).toContain('warning: Delivery dlv_1 was forwarded, but that could not be recorded');
    },
  );

  test('does not forward what an earlier run did not verify if this run verifies', async () => {
    const target = await startReceiver([500, 200]);
    const args = ['--save', tempDirectory(), '--forward-to', target.url];
    const first = await startListening(args);
    await post(first.url, 'forged', { 'webhook-id': 'a' });
    await target.arrived(1);
    expect(await first.stop()).toBe(130);
    const second = await startListening([...args, ...STANDARD, '--exit-after', '1'], WITH_SECRET);
    await deliver(second.url, 'b', PAYLOAD);
    expect(await second.exited).toBe(0);
    expect(target.received.map(({ headers }) => headers['webhook-id'])).toEqual(['a', 'b']);
    expect(second.stderr()).toContain(
      'Delivery a of an earlier run is not forwarded: it is not-checked. Run without --verify once to forward it.',
    );
    const third = await startListening([...args, '--exit-after', '1']);
    await deliver(third.url, 'c', PAYLOAD);
    expect(await third.exited).toBe(0);
    expect(target.received.map(({ headers }) => headers['webhook-id']).toSorted()).toEqual(['a', 'a', 'b', 'c']);
  });

  test('gives up a target that stalls after a time, and forwards other deliveries meanwhile', async () => {
    const target = await startReceiver(({ body }) => (body === 'slow' ? 'stall' : 200));
    const listening = await startListening(['--forward-to', target.url], { clock: fasterClock(10) });
    await post(listening.url, 'slow');
    await post(listening.url, 'fast');
    await listening.event(1);
    const handled = Object.fromEntries(listening.events.map(({ body, forwarded }) => [body, forwarded]));
    expect(handled).toEqual({ slow: false, fast: true });
    await expect.poll(() => listening.stderr()).toContain('it did not respond within 30 seconds');
    expect(await listening.stop()).toBe(130);
  });

  test("passes the target's status to the sender with --relay-status, which can resend what failed", async () => {
    const target = await startReceiver([{ status: 418, body: 'teapot' }, 'cut', { status: 201, body: 'made' }, 200]);
    const directory = tempDirectory();
    const listening = await startListening(['--forward-to', target.url, '--relay-status', '--save', directory]);
    const send = async () => {
      const response = await post(listening.url, 'x', { 'webhook-id': 'a' });
      return [response.status, await response.text()];
    };
    expect([await send(), await send()]).toEqual([
      [418, 'teapot'],
      [502, ''],
    ]);
    expect(savedIn(directory)).toEqual([]);
    expect([await send(), await send()]).toEqual([
      [201, 'made'],
      [200, ''],
    ]);
    expect(target.received).toHaveLength(3);
    expect(listening.events.map(({ forwarded }) => forwarded)).toEqual([false, false, true]);
    expect(savedIn(directory)).toHaveLength(2);
  });
});

describe('the end of webhook listen', () => {
  test('comes with --exit-after once the deliveries are forwarded', async () => {
    const target = await startReceiver([500, 200]);
    const listening = await startListening(['--forward-to', target.url, '--exit-after', '2'], {
      clock: fasterClock(20),
    });
    await post(listening.url, 'one');
    await post(listening.url, 'two');
    expect(await listening.exited).toBe(0);
    expect(target.received).toHaveLength(3);
    expect(listening.events).toHaveLength(2);
  });

  test('exits with 11 if --timeout ends before enough deliveries; without --exit-after, the limit is a normal end', async () => {
    const { code, stderr } = await run(['webhook', 'listen', '--exit-after', '2', '--timeout', '1s']);
    expect({ code, stderr }).toEqual({ code: 11, stderr: expect.stringContaining('0 of 2 deliveries came') });
    expect((await run(['webhook', 'listen', '--timeout', '1s'])).code).toBe(0);
  });
});
