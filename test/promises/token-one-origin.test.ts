import { describe, expect, test } from 'vitest';
import { TRUST_CERTIFICATE } from '../support/certificate.ts';
import { createChat } from '../support/chat.ts';
import {
  type FakeRequest,
  type FakeService,
  type Handler,
  json,
  sendJson,
  startFakeService,
} from '../support/fake-service.ts';
import { start } from '../support/program.ts';
import { PLAYS_ALL } from '../support/properties.ts';
import { fastClock, partnerctl, run, tempDirectory } from '../support/run.ts';
import { manifest, service as startService, write } from '../support/service.ts';
import { proxyTo, startRawService } from '../support/tcp-server.ts';
import { createHome, everyCall, expectNoToken, SHAPES, TOKEN, testNoTokenLeak } from '../support/token-echo.ts';
import { SECRET, startListening, startReceiver } from '../support/webhooks.ts';

const LIST = ['spaces', 'list', '-o', 'json', '--retries', '0'];

/** Fails if a request has the token in any place but the Authorization header. */
function expectOnlyAuthorized({ method, path, headers, body }: FakeRequest): void {
  const { authorization, ...others } = headers;
  expect(authorization).toBe(`Bearer ${TOKEN}`);
  expectNoToken(`${method} ${path}`, JSON.stringify([path, others, body]));
}

/** Runs every command against a service, which each must reach. */
async function runEveryCall({ baseUrl, requests }: FakeService): Promise<void> {
  const env = { ...createHome().env, PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: TOKEN };
  for (const args of everyCall()) {
    const before = requests.length;
    await run(args, { env });
    expect(requests.length, args.join(' ')).toBeGreaterThan(before);
  }
}

test('No command follows a redirect, whatever its status', async () => {
  const other = await startFakeService(json([]));
  const own = await startFakeService(({ path }, response, count) => {
    const location = `${other.baseUrl}${path.slice('/v1'.length)}`;
    response.writeHead([301, 302, 303, 307, 308][count % 5] ?? 307, { location }).end();
  });
  await runEveryCall(own);
  own.requests.forEach(expectOnlyAuthorized);
  expect(new Set(own.requests.map(({ method }) => method))).toEqual(new Set(['GET', 'POST']));
  expect(other.requests).toEqual([]);
});

test('No URL in a header or a field of a response is requested, and the token is only in the Authorization header', async () => {
  const other = await startFakeService(json([]));
  const own = await startFakeService(({ method, path }, response) => {
    const url = `${other.baseUrl}${path.slice('/v1'.length)}`;
    const names = 'url href location upload_url self next next_page_url name text schedule'.split(' ');
    const ids = 'space_id external_space_id agent_id template_id source_id cron_job_id message_id id'.split(' ');
    const object = {
      ...Object.fromEntries([...names, ...ids].map((name) => [name, url])),
      links: { next: url, self: url },
    };
    const headers = { location: url, 'content-location': url, refresh: `0; url=${url}`, link: `<${url}>; rel="next"` };
    const body = method === 'GET' ? { results: [object], next: url, links: { next: url } } : object;
    sendJson(response, body, method === 'GET' ? 200 : 201, headers);
  });
  await runEveryCall(own);
  expect(new Set(own.requests.map(({ method }) => method))).toEqual(new Set(['GET', 'POST']));
  own.requests.forEach(expectOnlyAuthorized);
  expect(other.requests).toEqual([]);
});

/** URLs that other programs have taken for another service than they name. */
type Link = (own: string, other: string, path: string) => string;

/** Those whose path is read, at the own service, as that of the next page. */
const READ_HERE: readonly Link[] = [
  (own, other, path) => `http://${own}@${other}${path}`,
  (_, other, path) => `\\\\${other}${path.replaceAll('/', '\\')}`,
  (_, other, path) => `http:\\\\${other}${path}`,
  (_, other, path) => `///${other}${path}`,
  (_, other, path) => `/\t/${other}${path}`,
  (_, other, path) => `https://${other}${path}`,
  (own, other, path) => `http://${own.split(':')[0]}:${other.split(':')[1]}${path}`,
];

const REFUSED: readonly Link[] = [
  (own, other, path) => `http://${other}#@${own}${path}`,
  (_, other, path) => `ftp://${other}${path}`,
  (_, _other, path) => `file://${path}`,
  (_, other) => `/v1/../../${other}/`,
  () => '/v1/%2e%2e/admin/',
];

/** An item of any kind of list. */
function item(number: number): Record<string, unknown> {
  return {
    id: `id-${number}`,
    name: `Item ${number}`,
    external_space_id: `e${number}`,
    agent_id: `agt-${number}`,
    session_id: 's',
    text: `Text ${number}`,
    role: 'user',
    created_at: `2026-01-01T00:00:0${number}Z`,
  };
}

test.each([
  ['/automation/spaces/', ['spaces', 'list']],
  ['/automation/spaces/spc/agents/', ['agents', 'list', 'spc']],
  ['/automation/partner-cron-jobs/', ['cron', 'list']],
  [
    '/integrations/api-chat/history/',
    ['chat', 'tail', '--source', 'src', '--session', 's', '--from-start', '--no-follow'],
  ],
])('No link to the next page sends the token elsewhere, or ends the list silently: %s', async (path, command) => {
  const other = await startFakeService(json({ results: [item(2)] }));
  const own = await startFakeService(json([]));
  const env = { PARTNER_BASE_URL: own.baseUrl, PARTNER_TOKEN: TOKEN };
  for (const [index, link] of [...READ_HERE, ...REFUSED].entries()) {
    const next = link(new URL(own.baseUrl).host, new URL(other.baseUrl).host, `/v1${path}?page=2`);
    const inBody: Handler = (_, response) => sendJson(response, { results: [item(1)], next });
    const header = { link: `<${next.replace('\t', '')}>; rel="next"` };
    const inHeader: Handler = (_, response) => sendJson(response, [item(1)], 200, header);
    // Each in one of the two, in turn, and for another command in the other; the slow tests play both.
    const isInBody = (index + path.length) % 2 === 0;
    for (const first of PLAYS_ALL ? [inBody, inHeader] : [isInBody ? inBody : inHeader]) {
      own.respond((request, response, count) => {
        if (request.query.has('page')) sendJson(response, { results: [item(2)] });
        else first(request, response, count);
      });
      const ran = await run([...command, '-o', 'ndjson', '--retries', '0'], { env: { ...env, HOME: tempDirectory() } });
      const what = `${next} ${first === inBody ? 'body' : 'header'}\n${ran.stdout}${ran.stderr}`;
      expect(ran.code, what).toBe(READ_HERE.includes(link) ? 0 : 8);
      if (ran.code === 0) expect(ran.stdout.split('\n').filter(Boolean), what).toHaveLength(2);
      expect(ran.stderr, what).not.toContain(TOKEN);
    }
  }
  expect(own.requests.filter((request) => !request.path.startsWith(`/v1${path}`))).toEqual([]);
  expect(other.requests).toEqual([]);
});

test('A document of a service is downloaded without the token', async () => {
  const other = await startFakeService(json({ openapi: '3.1.0', info: { title: 'x', version: '1' }, paths: {} }));
  const own = await startFakeService(json([]));
  const env = { ...createHome().env, PARTNER_BASE_URL: own.baseUrl, PARTNER_TOKEN: TOKEN };
  await run(['contract', 'import', `${other.baseUrl}/openapi.json`], { env });
  expect(other.requests.map(({ path }) => path)).toContain('/v1/openapi.json');
  for (const { headers, path } of other.requests) expectNoToken(path, JSON.stringify(headers));
});

test.each([
  ['webhook listen', 'one'],
  ['webhook replay', 'two'],
])('%s forwards no token, not even one that the sender put into a header', async (command, id) => {
  const target = await startReceiver([200]);
  const saved = tempDirectory();
  const env = { ...createHome().env, PARTNER_TOKEN: TOKEN, PARTNER_WEBHOOK_SECRET: SECRET };
  const forwarding = ['--forward-to', target.url];
  const listening = await startListening(['--save', saved, ...(command === 'webhook listen' ? forwarding : [])], {
    env,
  });
  await fetch(listening.url, {
    method: 'POST',
    body: '{}',
    headers: { 'webhook-id': id, 'x-token': `Bearer ${TOKEN}`, authorization: `Bearer ${TOKEN}` },
  });
  await listening.event(0);
  await listening.stop();
  if (command === 'webhook replay') await run(['webhook', 'replay', saved, ...forwarding], { env });
  expect(target.received.map((request) => request.id)).toEqual([id]);
  expectNoToken('the forwarded request', JSON.stringify(target.received));
  expect(target.received[0]?.headers).not.toHaveProperty('authorization');
  expectNoToken('the output', listening.lines.join('\n') + listening.stderr());
});

test.each([
  ['a token', [], TOKEN],
  ['a token_command', ['--token-command', `echo '${TOKEN}'`], undefined],
])('%s that is stored for one service is not sent to another', async (_, stored, stdin) => {
  const own = await startFakeService(json([]));
  const { env } = createHome();
  const login = ['login', '--base-url', own.baseUrl, ...stored];
  expect((await run(login, { env, ...(stdin !== undefined && { stdin }) })).code).toBe(0);
  // Every connection to the other service would go through the proxy.
  const proxy = await startRawService('');
  const proxied = { ...env, HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
  const other = 'https://other.partner.test/v1';
  for (const ran of [
    await run([...LIST, '--base-url', other], { env: proxied }),
    await run(LIST, { env: { ...proxied, PARTNER_BASE_URL: other } }),
  ]) {
    expect(ran).toMatchObject({ code: 3, stdout: '' });
    expectNoToken('stderr', ran.stderr);
  }
  expect(proxy.requests).toEqual([]);
});

/** Runs the built program with a trusted certificate. */
const trusting = (env: Record<string, string>, ...args: string[]) =>
  start(args, { env: { HOME: tempDirectory(), PARTNER_TOKEN: TOKEN, ...TRUST_CERTIFICATE, ...env } });

describe('A proxy', () => {
  test('tunnels the calls and never sees the token', async () => {
    const own = await startFakeService(json([{ space_id: 's1' }]), { tls: true });
    const proxy = await proxyTo(own.port);
    const env = { PARTNER_BASE_URL: 'https://api.partner.test/v1', HTTPS_PROXY: proxy.url };
    const ran = await trusting(env, ...LIST, '--debug');
    expect({ code: ran.exitCode, out: ran.stdout }).toMatchObject({ code: 0, out: expect.stringContaining('s1') });
    expect(proxy.requests.map((request) => request.split(' ')[1])).toEqual(['api.partner.test:443']);
    expect(own.requests[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    const passed = proxy.requests.join('') + Buffer.concat(proxy.seen).toString('latin1');
    expect(passed).not.toContain(TOKEN);
    expect(passed).not.toContain('uthorization');
    expect(ran.stderr).not.toContain(TOKEN);
  });

  test('may be that of https_proxy, and have no scheme, and a user name and password, which nothing shows', async () => {
    const proxy = await startRawService('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    const env = { PARTNER_TOKEN: TOKEN, https_proxy: `me:s3cr3tpass@127.0.0.1:${proxy.port}` };
    const ran = await partnerctl('https://api.partner.test/v1', [...LIST, '--debug'], { env });
    expect(ran.code).toBe(8);
    const [, authorization] = /^proxy-authorization: (.*)\r$/im.exec(proxy.requests[0] ?? '') ?? [];
    expect(authorization).toBe(`Basic ${Buffer.from('me:s3cr3tpass').toString('base64')}`);
    expect(ran.stderr).not.toContain('s3cr3tpass');
  });

  test('is not used for hosts in NO_PROXY', async () => {
    const proxy = await proxyTo(1);
    const env = { NO_PROXY: 'x.test,.partner.invalid', HTTPS_PROXY: proxy.url };
    expect((await partnerctl('https://api.partner.invalid/v1', LIST, { env })).code).toBe(8);
    expect(proxy.requests).toEqual([]);
  });

  test('that is down is named, and how to do without it', async () => {
    const env = { HTTPS_PROXY: 'http://127.0.0.1:1' };
    expect((await partnerctl('https://api.partner.test/v1', LIST, { env })).error()).toMatchObject({
      message: 'The proxy http://127.0.0.1:1 (from HTTPS_PROXY) refused the connection.',
      hint: 'Check the proxy, or add api.partner.test to NO_PROXY.',
      details: { left: false },
    });
  });

  test('is never used for the local machine', async () => {
    const own = await startFakeService(json([]));
    const proxy = await proxyTo(own.port);
    const env = { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url, ALL_PROXY: proxy.url, http_proxy: proxy.url };
    expect((await partnerctl(own.baseUrl, LIST, { env })).code).toBe(0);
    // Its certificate is not trusted: the connection that fails is one without the proxy.
    const secure = await startFakeService(json([]), { tls: true });
    expect((await partnerctl(secure.baseUrl, LIST, { env })).error().hint).toContain('NODE_EXTRA_CA_CERTS');
    expect(proxy.requests).toEqual([]);
  });

  test.each([
    ['refuses it', 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', 1, 'answered 407.'],
    ['redirects it', 'HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n\r\n', 4, ''],
    ['answers itself', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]', 4, ''],
  ])('that is asked for a tunnel and %s never gets the token', async (_, reply, requests, says) => {
    const proxy = await startRawService(reply);
    const env = { PARTNER_TOKEN: TOKEN, HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
    const ran = await partnerctl('https://api.partner.test/v1', ['spaces', 'list', '-o', 'json'], { env });
    expect({ code: ran.code, requests: proxy.requests.length }).toEqual({ code: 8, requests });
    expect(ran.error()).toMatchObject({ message: expect.stringContaining(says), details: { left: false } });
    expectNoToken('the proxy', proxy.requests.join('\n'));
  });
});

describe('A service whose certificate', () => {
  test('is not trusted never receives the token, and is not asked again', async () => {
    const own = await startFakeService(json([]), { tls: true });
    const env = { PARTNER_BASE_URL: own.baseUrl, PARTNER_TOKEN: TOKEN };
    const ran = await run(['spaces', 'list', '-o', 'json'], { env, clock: fastClock() });
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({ details: { left: false, attempts: 1 } });
    expect(ran.error().hint).toContain('NODE_EXTRA_CA_CERTS');
    expect(own.requests).toEqual([]);
  });

  test('is for another host never receives the token', async () => {
    const own = await startFakeService(json([]), { tls: true });
    const proxy = await proxyTo(own.port);
    const env = { PARTNER_BASE_URL: 'https://other.partner.test/v1', HTTPS_PROXY: proxy.url };
    expect((await trusting(env, ...LIST)).exitCode).toBe(8);
    expect(proxy.requests.map((request) => request.split(' ')[1])).toEqual(['other.partner.test:443']);
    expect(own.requests).toEqual([]);
  });
});

/** The likeliest of the places; the slow tests try all of them, and every spelling of the token with processes. */
const LIKELY = ['in every field and header', 'in an error of every shape'];

testNoTokenLeak(
  (args, env) => run(args, { env, clock: fastClock() }),
  Object.fromEntries(Object.entries(SHAPES).filter(([name]) => PLAYS_ALL || LIKELY.includes(name))),
);

const JOB = ['--instructions', 'x', '--schedule', '@daily'];

function withJob(name: string): string {
  const job = `{ name: the ${name}, instructions: x, schedule: '@daily', timezone: UTC }`;
  return manifest('acme').replace('name: "Support" }', `name: Support, cron: [${job}] }`);
}

test.each<[string, (token: string) => readonly string[]]>([
  ['an agent', (token) => ['cron', 'create', '--agent', token, '--name', 'daily', ...JOB]],
  ['a job', (token) => ['cron', 'create', '--agent', 'agt_1', '--name', `the ${token}`, ...JOB]],
  ['a space', (token) => ['provision', write('acme.yaml', manifest(token))]],
  ['a job of a manifest', (token) => ['provision', write('acme.yaml', withJob(token))]],
  ['a session', (token) => ['chat', 'send', '--source', 'src_1', '--session', token, 'Hello']],
])('Nothing is sent or written if the token is typed in place of %s', async (_, args) => {
  const { env, posts } = await startService();
  const { PARTNER_TOKEN: token = '' } = env;
  const home = createHome();
  const ran = await run(args(token), { env: { ...env, ...home.env } });
  expect(ran).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error: A secret would be written to the state/),
  });
  expect(home.files() + ran.stdout + ran.stderr).not.toContain(token);
  expect(await posts()).toEqual([]);
});

test('chat tail records the sessions that it has read, and the token nowhere, even if it is the name of one', async () => {
  const service = await startService();
  const { send, source_id } = await createChat(service);
  await send('Hello', { session_id: 'anna' });
  const { PARTNER_TOKEN: token = '' } = service.env;
  const home = createHome();
  const sessions = ['--source', source_id, '--session', token, '--session', 'anna'];
  const ran = await run(['chat', 'tail', ...sessions, '--resume', '--no-follow', '-o', 'json'], {
    env: { ...service.env, ...home.env },
  });
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toContain('Hello');
  expect(home.files()).toContain('"session_id":"anna"');
  expect(home.files() + ran.stdout + ran.stderr).not.toContain(token);
});
