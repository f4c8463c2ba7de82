import { chmodSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { json, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';

const TOKEN = 'secret-token-4711';

async function start() {
  const service = await startFakeService(json([{ space_id: 's1', note: `echo ${TOKEN}` }]));
  const HOME = tempDirectory();
  const file = join(HOME, 'trace.jsonl');
  return { service, file, env: { HOME, PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: TOKEN } };
}

test('--debug-file appends one line per request, without secrets, to a private file', async () => {
  const { env, file } = await start();
  const ran = await run(['spaces', 'list', '--debug-file', file], { env });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  await run(['spaces', 'list', '--debug-file', file], { env });
  const text = readFileSync(file, 'utf8');
  expect(text).not.toContain(TOKEN);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatchObject({
    method: 'GET',
    path: '/v1/automation/spaces/',
    query: {},
    request_headers: { authorization: '[redacted]' },
    request_body: null,
    status: 200,
    response_headers: { 'content-type': 'application/json' },
    response_body: [{ space_id: 's1', note: 'echo [redacted]' }],
    error: null,
  });
});

test('--debug-file fails before anything is sent if it cannot be written', async () => {
  const { env, file, service } = await start();
  mkdirSync(file);
  const ran = await run(['spaces', 'list', '--debug-file', file], { env });
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain('(--debug-file) cannot be written');
  expect(service.requests).toEqual([]);
});

test('--debug-file leaves a file alone that it did not write', async () => {
  const { env, service } = await start();
  for (const content of ['external_space_id: acme-001\n', '\n{"v":1,"type":"note"}\n']) {
    const file = write('other', content);
    chmodSync(file, 0o644);
    const ran = await run(['spaces', 'list', '--debug-file', file], { env });
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain('other content than requests that --debug-file recorded');
    expect(readFileSync(file, 'utf8')).toBe(content);
    expect(statSync(file).mode & 0o777).toBe(0o644);
  }
  expect(service.requests).toEqual([]);
});

test('--debug-file records the field names of an upload, and not its content', async () => {
  const { env, file, service } = await start();
  service.respond(json({ id: 'd1' }, 201));
  const ran = await run(['upload', '--debug-file', file, write('note.txt', 'the content')], { env });
  expect(ran.code, ran.stderr).toBe(0);
  const text = readFileSync(file, 'utf8');
  expect(JSON.parse(text)).toMatchObject({ method: 'POST', request_body: null, request_form: ['file'] });
  expect(text).not.toContain('the content');
});
