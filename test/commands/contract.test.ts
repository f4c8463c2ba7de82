import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { schedules } from '../support/cron.ts';
import { json, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';
import { service } from '../support/service.ts';

interface Leaf {
  readonly leaf: string;
  readonly value: string;
  readonly source: string;
}

const ADDRESS = { PARTNER_BASE_URL: 'http://127.0.0.1:9/v1', PARTNER_TOKEN: 'test-token' };
const homeEnv = () => ({ ...ADDRESS, HOME: tempDirectory() });

describe('contract show', () => {
  test('lists every leaf with its value and source, without a service', async () => {
    const ran = await run(['contract', 'show', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const leaves = ran.json<Leaf[]>();
    expect(leaves).toContainEqual({
      leaf: 'cron_jobs.list',
      value: 'GET /automation/partner-cron-jobs/',
      source: 'assumed',
      kind: 'operation',
      note: expect.any(String),
    });
    expect(leaves.map(({ leaf }) => leaf)).toContain('message.text');
  });

  test('rejects a prefix that no leaf has, and suggests a similar leaf', async () => {
    const ran = await run(['contract', 'show', 'mesages.history']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('Did you mean messages.history?');
  });

  test('shows only one source, or only the leaves with a prefix', async () => {
    const assumed = await run(['contract', 'show', '--source', 'assumed', '-o', 'json']);
    expect(new Set(assumed.json<Leaf[]>().map(({ source }) => source))).toEqual(new Set(['assumed']));
    const history = await run(['contract', 'show', 'messages.history', '-o', 'json']);
    expect(history.json<Leaf[]>().map(({ leaf }) => leaf)).toContain('messages.history.session_id');
    expect(history.json<Leaf[]>().every(({ leaf }) => leaf.startsWith('messages.history'))).toBe(true);
  });

  test('rejects an unknown source', async () => {
    const ran = await run(['contract', 'show', '--source', 'guess']);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('assumed');
  });
});

describe('contract set and unset', () => {
  test('change the value only for this profile and service', async () => {
    const env = homeEnv();
    const set = await run(['contract', 'set', 'messages.history.session_id', 'query:sessionId', '-o', 'json'], { env });
    expect(set.json()).toEqual({
      leaf: 'messages.history.session_id',
      value: 'query:sessionId',
      previous: 'query:session_id',
      profile: 'default',
      base_url: ADDRESS.PARTNER_BASE_URL,
    });
    const overrides = async (more: Record<string, string>) =>
      (await run(['contract', 'show', '--source', 'override', '-o', 'json'], { env: { ...env, ...more } })).json<
        Leaf[]
      >();
    expect(await overrides({})).toMatchObject([{ leaf: 'messages.history.session_id', value: 'query:sessionId' }]);
    expect(await overrides({ PARTNER_BASE_URL: 'http://127.0.0.1:10/v1' })).toEqual([]);
    const unset = await run(['contract', 'unset', 'messages.history.session_id', '-o', 'json'], { env });
    expect(unset.json()).toMatchObject({ value: 'query:session_id', source: 'assumed' });
    expect(await overrides({})).toEqual([]);
  });

  test('set several values at once', async () => {
    const env = homeEnv();
    const args = ['message.author', 'message_type', 'message.author.agent', 'bot, 1'];
    const set = await run(['contract', 'set', ...args, '-o', 'json'], { env });
    expect(set.json()).toMatchObject([
      { leaf: 'message.author', value: 'message_type' },
      { leaf: 'message.author.agent', value: 'bot, 1' },
    ]);
    const shown = await run(['contract', 'show', '--source', 'override', '-o', 'json'], { env });
    expect(shown.json<Leaf[]>()).toMatchObject([{ value: 'message_type' }, { value: 'bot, 1' }]);
  });

  test.each([
    [['cron_jobs.list', 'GET', '/jobs/'], '/jobs/ has no value'],
    [['space.id', 'ref', 'agent.id', 'a,,b'], 'has an empty name'],
    [['space.id', 'ref', 'agnt.id', 'ref'], 'Did you mean agent.id?'],
  ])('set all values or none: %j', async (args, message) => {
    const env = homeEnv();
    const ran = await run(['contract', 'set', ...args], { env });
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(message);
    const shown = await run(['contract', 'show', '--source', 'override', '-o', 'json'], { env });
    expect(shown.json()).toEqual([]);
  });

  test('apply to one profile', async () => {
    const it = await service();
    const { HOME } = it.env;
    const env = { HOME };
    const baseUrl = it.env.PARTNER_BASE_URL ?? '';
    for (const profile of ['a', 'b']) {
      const login = ['login', '--profile', profile, '--base-url', baseUrl, '--token-file', '-'];
      expect((await run(login, { env, stdin: it.token })).code).toBe(0);
    }
    expect((await run(['contract', 'set', 'cron_jobs.list', 'none', '--profile', 'a'], { env })).code).toBe(0);
    expect((await run(['cron', 'list', '--profile', 'a'], { env })).code).toBe(2);
    expect((await run(['cron', 'list', '--profile', 'b'], { env })).code).toBe(0);
  });

  test('write a file that only its owner can read', async () => {
    const env = { ...homeEnv(), PARTNER_CONFIG_DIR: tempDirectory() };
    await run(['contract', 'set', 'cron_jobs.list', 'none'], { env });
    const directory = join(env.PARTNER_CONFIG_DIR, 'contracts');
    const [name = ''] = readdirSync(directory);
    expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
  });

  test.each([
    [['spaces.lst', 'GET /x/'], 'Did you mean spaces.list?'],
    [['spaces.list', 'DELETE /x/'], 'must be a method and a path'],
    [['spaces.list', 'GET /../admin/'], 'must be a method and a path'],
    [['spaces.list', 'GET //evil.test/'], 'must be a method and a path'],
    [['agents.list', 'GET /agents/'], 'needs the placeholder {space_id}'],
    [['agents.list', 'GET /agents/{space_id}/{shard}/'], '{shard}'],
    [['cron_jobs.create', 'none'], 'cannot be none'],
    [['messages.send.external_message_id', 'none'], 'cannot be none'],
    [['spaces.provision.agents.template_id', 'body:template'], 'must have one list'],
    [['spaces.list.next', 'cursor'], 'must be auto, none'],
    [['space.id', 'a,,b'], 'has an empty name'],
    [['space.id', 'id\\|uuid'], 'has \\| between names'],
    [['paths.trailing_slash', 'sometimes'], 'as-written'],
  ])('reject %j', async (args, message) => {
    const ran = await run(['contract', 'set', ...args], { env: homeEnv() });
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(message);
  });

  test('are ignored with a warning where this version has no such leaf, and the others apply', async () => {
    const fake = await startFakeService({ 'GET /workspaces': json([{ space_id: 's1' }]) });
    const env = { ...homeEnv(), PARTNER_BASE_URL: fake.baseUrl, PARTNER_CONFIG_DIR: tempDirectory() };
    await run(['contract', 'set', 'spaces.list', 'GET /workspaces'], { env });
    const directory = join(env.PARTNER_CONFIG_DIR, 'contracts');
    const path = join(directory, readdirSync(directory)[0] ?? '');
    const stored = JSON.parse(readFileSync(path, 'utf8'));
    stored.imported = { 'spaces.sorting': 'query:sort' };
    writeFileSync(path, JSON.stringify(stored));
    const ran = await run(['spaces', 'list', '-o', 'json'], { env });
    expect(ran.json()).toEqual([{ space_id: 's1' }]);
    expect(ran.stderr).toContain(`warning: The contract has no spaces.sorting, which ${path} sets: ignored.`);
  });

  test('name a damaged file', async () => {
    const env = { ...homeEnv(), PARTNER_CONFIG_DIR: tempDirectory() };
    await run(['contract', 'set', 'cron_jobs.list', 'none'], { env });
    const directory = join(env.PARTNER_CONFIG_DIR, 'contracts');
    const path = join(directory, readdirSync(directory)[0] ?? '');
    writeFileSync(path, '{"overrides":{"spaces.list":"GET //evil.test/"}}');
    const ran = await run(['spaces', 'list'], { env });
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(path);
    expect(ran.stderr).toContain('spaces.list must be a method and a path');
  });
});

test('a call uses the method, path, and parameters that were set', async () => {
  const fake = await startFakeService({ 'GET /workspaces': json([{ space_id: 's1' }]) });
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'test-token', HOME: tempDirectory() };
  await run(['contract', 'set', 'spaces.list', 'GET /workspaces'], { env });
  const ran = await run(['spaces', 'list', '-o', 'json'], { env });
  expect(ran.json()).toEqual([{ space_id: 's1' }]);
});

test('the state file alone guards jobs if the contract says that there is no list', async () => {
  const it = await schedules();
  await run(['contract', 'set', 'cron_jobs.list', 'none'], { env: it.env });
  await it.forget();
  expect((await it.create()).code).toBe(0);
  expect((await it.create()).code).toBe(5);
  expect((await it.received()).map(({ method }) => method)).toEqual(['POST']);
});
