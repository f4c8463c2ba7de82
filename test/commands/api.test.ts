import { describe, expect, test } from 'vitest';
import { json, reset, type Script, startFakeService } from '../support/fake-service.ts';
import { type RunOptions, run, tinyRandom } from '../support/run.ts';
import { write } from '../support/service.ts';

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
    const ran = await api(['GET', 'automation/things/?page=2']);
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

  test('HEAD prints nothing, and --debug shows the headers of a response, and escaped what a terminal would act on', async () => {
    const { api, fake } = await setUp((_, response) => response.setHeader('set-cookie', 'secret=1').end());
    const stderr = expect.stringContaining('< set-cookie: [redacted]');
    expect(await api(['HEAD', '/x', '--debug'])).toMatchObject({ code: 0, stdout: '', stderr });
    fake.respond((_, response) => response.end('{"t":"a\u202eb\u009b2J"}'));
    const shown = (await api(['GET', '/x', '--debug'])).stderr;
    expect(shown).toContain('a\\u202eb\\x9b2J');
    expect(shown).not.toMatch(/[\u202e\u009b]/);
  });
});

describe('the body of an api call', () => {
  test('comes from an argument, a file, or standard input, and is sent unchanged', async () => {
    const { api, fake } = await setUp({ 'POST *': json({ id: 1 }, 201) });
    const text = '{ "n": 1.0 }';
    for (const data of [text, `@${write('data.json', text)}`, '-'])
      expect(await api(['POST', '/x', '-d', data], { stdin: text })).toMatchObject({ code: 0, stdout: '{"id":1}' });
    expect(fake.requests.map(({ body }) => body)).toEqual([text, text, text]);
    expect(fake.requests[0]?.headers['content-type']).toBe('application/json');
  });

  test('must be JSON unless a header names another content type', async () => {
    const { api, fake } = await setUp(json({}));
    const refused = await api(['POST', '/x', '-d', '{\n "a": }']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('The data has invalid JSON') });
    expect(fake.requests).toHaveLength(0);
    const sent = await api(['PUT', '/x', '-d', 'a,b', '-H', 'Content-Type: text/csv', '-H', 'X-Extra: yes']);
    expect(sent.code).toBe(0);
    expect(fake.requests[0]).toMatchObject({ method: 'PUT', body: 'a,b' });
    expect(fake.requests[0]?.headers).toMatchObject({ 'content-type': 'text/csv', 'x-extra': 'yes' });
  });
});

describe('the URL of an api call', () => {
  test('must be below the base URL, and reserved headers are rejected; nothing is sent', async () => {
    const { api, fake } = await setUp(json({}));
    const paths = ['https://elsewhere.example/v1/x', '//elsewhere.example/x', '/../admin', '/%2e%2e/admin'];
    for (const path of [...paths, '/a/..%2f..%2fadmin', '/a\nb', '', '/v1/automation/spaces/', '/a#b'])
      expect(await api(['GET', path]), path).toMatchObject({ code: 2, stdout: '' });
    for (const flags of [
      ['-H', 'Authorization: Bearer other'],
      ['-H', 'X-Bad: a\r\nAuthorization: b'],
      ['-H', 'nothing'],
      ['-d', '{}'],
      ['--idempotent'],
    ])
      expect(await api(['GET', '/x', ...flags]), `${flags}`).toMatchObject({ code: 2, stdout: '' });
    expect(fake.requests).toHaveLength(0);
    expect((await api(['GET', `${fake.baseUrl}/a/../b?x=%2e%2e`])).code).toBe(0);
    expect(fake.requests[0]?.path).toBe('/v1/b?x=%2e%2e');
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

test('an error of an api call shows the body, and exits with the code of its status', async () => {
  const { api, fake } = await setUp(json({}));
  for (const [status, code] of [
    [400, 1],
    [402, 6],
    [301, 8],
  ] as const) {
    const headers = status === 301 ? { location: '/v1/y' } : { 'retry-after': '500' };
    fake.respond(json({ message: 'the reason', extra: [1] }, status, headers));
    const ran = await api(['GET', '/x', '--retries', '0', '--timeout', '5s']);
    expect(ran).toMatchObject({ code, stdout: '{"message":"the reason","extra":[1]}' });
    expect(ran.stderr).toContain(`(${status})`);
    expect(ran.stderr).not.toContain('contract set');
  }
});

test('api rejects a call that creates a job, and names the command to use instead; with --unguarded, it warns once', async () => {
  const JOB = JSON.stringify({ name: 'daily' });
  const { api, fake } = await setUp(json({ cron_job_id: 'c1' }, 201));
  for (const path of ['/automation//Partner-Cron-Jobs', '/automation/partner-cron-jobs/?x=1']) {
    const ran = await api(['POST', path, '-d', JOB]);
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('partnerctl cron create') });
  }
  expect(fake.requests).toHaveLength(0);
  const ran = await api(['POST', '/automation/partner-cron-jobs/', '-d', JOB, '--unguarded']);
  expect(ran.code).toBe(0);
  expect(ran.stderr.match(/warning/g)).toHaveLength(1);
  expect(fake.requests).toHaveLength(1);
});
