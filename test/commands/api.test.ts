import { describe, expect, test } from 'vitest';
import { json, reset, type Script, sendJson, startFakeService } from '../support/fake-service.ts';
import { type RunOptions, run, tinyRandom } from '../support/run.ts';
import { service, write } from '../support/service.ts';

const TOKEN = 'pat_a-token-that-nobody-may-see-0123456789';

/** A fake service, and a function that calls `api` on it. */
async function setUp(script: Script) {
  const fake = await startFakeService(script);
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: TOKEN };
  const api = (args: readonly string[], options: RunOptions = {}) =>
    run(['api', ...args], { random: tinyRandom, ...options, env: { ...env, ...options.env } });
  return { fake, env, api };
}

describe('api', () => {
  test('makes a call with the token and writes the response byte for byte where stdout is not a terminal', async () => {
    const body = '{"b" : 12345678901234567890,\n "a":"\\u0041"}';
    const { api, fake } = await setUp((_, response) => response.end(body));
    const ran = await api(['get', 'automation/things/?page=2']);
    expect(ran).toMatchObject({ code: 0, stdout: body, stderr: '' });
    expect(fake.requests[0]).toMatchObject({ method: 'GET', path: '/v1/automation/things/?page=2' });
    expect(fake.requests[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  test('indents JSON in a terminal, and prints one document with exact numbers under -o json', async () => {
    const { api } = await setUp((_, response) => response.end('{"id":12345678901234567890,"t":"a\\u001bb"}'));
    const shown = await api(['GET', '/x', '--color', 'never'], { columns: 80 });
    expect(shown.stdout).toBe('{\n  "id": 12345678901234567890,\n  "t": "a\\u001bb"\n}\n');
    expect((await api(['GET', '/x', '-o', 'json'])).stdout).toContain('12345678901234567890');
    expect((await api(['GET', '/x', '--query', 't', '-o', 'json'])).json()).toBe('a\u001bb');
  });

  test('--include shows the status and the headers', async () => {
    const { api } = await setUp(json({ ok: true }, 200, { 'x-kind': 'thing', 'set-cookie': 'secret=1' }));
    const ran = await api(['GET', '/x', '-i']);
    expect(ran.stdout).toMatch(/^HTTP 200\n(.*\n)*x-kind: thing\n/);
    expect(ran.stdout).toMatch(/\n\n\{"ok":true\}$/);
    expect(ran.stdout).toContain('set-cookie: [redacted]');
    expect((await api(['GET', '/x', '-i', '-o', 'json'])).json()).toMatchObject({ status: 200, body: { ok: true } });
    expect((await api(['HEAD', '/x'])).stdout).toMatch(/^HTTP 200\n/);
  });
});

describe('the body of an api call', () => {
  test.each([
    ['an argument', () => ({ data: '{ "n": 1.0 }' })],
    ['a file', () => ({ data: `@${write('data.json', '{ "n": 1.0 }')}` })],
    ['standard input', () => ({ data: '-', stdin: '{ "n": 1.0 }' })],
  ])('comes from %s, and is sent unchanged', async (_, given) => {
    const { api, fake } = await setUp({ 'POST *': (__, response) => sendJson(response, { id: 1 }, 201) });
    const { data, stdin }: { data: string; stdin?: string } = given();
    const ran = await api(['POST', '/x', '-d', data], stdin === undefined ? {} : { stdin });
    expect(ran).toMatchObject({ code: 0, stdout: '{"id":1}' });
    expect(fake.requests[0]).toMatchObject({ body: '{ "n": 1.0 }' });
    expect(fake.requests[0]?.headers['content-type']).toBe('application/json');
  });

  test('must be JSON unless a header names another content type', async () => {
    const { api, fake } = await setUp(json({}));
    const refused = await api(['POST', '/x', '-d', '{\n "a": }']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('line 2, column 7') });
    expect(fake.requests).toHaveLength(0);
    const sent = await api(['PUT', '/x', '-d', 'a,b', '-H', 'Content-Type: text/csv', '-H', 'X-Extra: yes']);
    expect(sent.code).toBe(0);
    expect(fake.requests[0]).toMatchObject({ method: 'PUT', body: 'a,b' });
    expect(fake.requests[0]?.headers).toMatchObject({ 'content-type': 'text/csv', 'x-extra': 'yes' });
  });

  test('can be a form of texts and files', async () => {
    const { env, sandbox, posts } = await service();
    const file = write('notes.txt', 'some notes');
    const args = ['POST', '/automation/file-attachments/', '-F', `file=@${file}`];
    const ran = await run(['api', ...args, '-o', 'json'], { env });
    expect(ran.code).toBe(0);
    expect(ran.json()).toHaveProperty('file_attachment_id');
    expect(await posts()).toHaveLength(1);
    expect(sandbox.baseUrl).toBe(env.PARTNER_BASE_URL);
    const { api, fake } = await setUp(async (request, response) => {
      await request.readBody();
      sendJson(response, {});
    });
    await api(['POST', '/x', '-F', 'name=a "quoted"', '-F', `file=@${file}`]);
    expect(fake.requests[0]?.body.split('\r\n').filter((line) => !line.startsWith('--'))).toEqual([
      'Content-Disposition: form-data; name="name"',
      '',
      'a "quoted"',
      'Content-Disposition: form-data; name="file"; filename="notes.txt"',
      'Content-Type: text/plain',
      '',
      'some notes',
      '',
    ]);
    expect(await api(['POST', '/x', '-F', 'file=@/nowhere/at/all'])).toMatchObject({ code: 2 });
  });
});

describe('the URL of an api call', () => {
  test.each([
    'https://elsewhere.example/v1/x',
    '//elsewhere.example/x',
    '/../admin',
    '/%2e%2e/admin',
    '/a/..%2f..%2fadmin',
    '/a\nb',
    '',
    '/v1/automation/spaces/',
    '/a#b',
  ])('%j exits with 2, and nothing is sent', async (path) => {
    const { api, fake } = await setUp(json({}));
    const ran = await api(['GET', path]);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(fake.requests).toHaveLength(0);
  });

  test('may be a full URL of the service, or contain dots that stay within its path', async () => {
    const { api, fake } = await setUp(json({}));
    expect((await api(['GET', `${fake.baseUrl}/a/../b?x=%2e%2e`])).code).toBe(0);
    expect(fake.requests[0]?.path).toBe('/v1/b?x=%2e%2e');
  });

  test.each([
    ['-H', 'Authorization: Bearer other'],
    ['-H', 'X-Bad: a\r\nAuthorization: b'],
    ['-H', 'nothing'],
    ['-d', '{}'],
    ['--idempotent'],
  ])('rejects GET with %s %s', async (...flags) => {
    const { api, fake } = await setUp(json({}));
    expect(await api(['GET', '/x', ...flags])).toMatchObject({ code: 2, stdout: '' });
    expect(fake.requests).toHaveLength(0);
  });
});

test('a read is repeated after a failure, a write only with --idempotent: otherwise it exits with 9', async () => {
  const { api, fake } = await setUp([reset, json({}, 503), json({ ok: true })]);
  expect(await api(['POST', '/x', '-d', '{}', '--idempotent'])).toMatchObject({ code: 0, stdout: '{"ok":true}' });
  expect(fake.requests).toHaveLength(3);
  const lost = await setUp([reset, json({})]);
  const ran = await lost.api(['DELETE', '/x', '-o', 'json']);
  expect(ran).toMatchObject({ code: 9, stdout: '' });
  expect(ran.error()).toMatchObject({ type: 'outcome_unknown', hint: expect.stringContaining('Read what') });
  expect(lost.fake.requests).toHaveLength(1);
});

describe('errors of an api call', () => {
  test.each([
    [400, 1],
    [401, 3],
    [402, 6],
    [403, 3],
    [404, 4],
    [429, 7],
    [500, 8],
    [301, 8],
  ])('%d exits with %d and shows the body', async (status, code) => {
    const headers = status === 301 ? { location: '/v1/y' } : { 'retry-after': '500' };
    const { api } = await setUp(json({ message: 'the reason', extra: [1] }, status, headers));
    const ran = await api(['GET', '/x', '--retries', '0', '--timeout', '5s']);
    expect(ran).toMatchObject({ code, stdout: '{"message":"the reason","extra":[1]}' });
    expect(ran.stderr).toContain(`(${status})`);
    expect(ran.stderr).not.toContain('contract set');
  });
});

describe('api and scheduled jobs', () => {
  const JOB = JSON.stringify({ name: 'daily' });

  test.each([
    '/automation/partner-cron-jobs/',
    '/automation//Partner-Cron-Jobs',
    '/automation/%70artner-cron-jobs/?x=1',
  ])('rejects a call that creates a job at %s, and names the command to use instead', async (path) => {
    const { api, fake } = await setUp(json({}, 201));
    const ran = await api(['POST', path, '-d', JOB]);
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('partnerctl cron create') });
    expect(fake.requests).toHaveLength(0);
  });

  test('sends the call with --unguarded, with one warning', async () => {
    const { api, fake } = await setUp(json({ cron_job_id: 'c1' }, 201));
    const ran = await api(['POST', '/automation/partner-cron-jobs/', '-d', JOB, '--unguarded']);
    expect(ran.code).toBe(0);
    expect(ran.stderr.match(/warning/g)).toHaveLength(1);
    expect(fake.requests).toHaveLength(1);
  });
});
