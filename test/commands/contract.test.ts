import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { json, startFakeService } from '../support/fake-service.ts';
import { list, object, openApi, operation } from '../support/openapi-documents.ts';
import { start } from '../support/program.ts';
import { propertyRuns } from '../support/properties.ts';
import { run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';

interface Leaf {
  readonly leaf: string;
  readonly value: string;
  readonly source: string;
}

function home(PARTNER_BASE_URL = 'http://127.0.0.1:9/v1') {
  const env = { PARTNER_BASE_URL, PARTNER_TOKEN: 'test-token', PARTNER_CONFIG_DIR: tempDirectory() };
  const contract = (...argv: readonly string[]) => run(['contract', ...argv], { env });
  const contracts = join(env.PARTNER_CONFIG_DIR, 'contracts');
  return {
    env,
    contract,
    overrides: async () => (await contract('show', '--source', 'override', '-o', 'json')).json<Leaf[]>(),
    /** The directory of the only stored contract. */
    stored: () => join(contracts, readdirSync(contracts)[0] ?? ''),
  };
}

/** Different leaves, with values that are not their defaults. */
const SIX = [
  ['spaces.list', 'GET /workspaces/'],
  ['messages.history.session_id', 'query:sessionId'],
  ['cron_jobs.list', 'none'],
  ['agent.name', 'title'],
  ['source.id', 'ref'],
  ['message.author.agent', 'bot'],
] as const;

/** It imports one leaf: where the list is. */
const SPACES_DOCUMENT = openApi({ '/automation/spaces/': { get: operation(list(object('space_id', 'name'))) } });

describe('contract show', () => {
  test('lists every leaf with its value and source, without a service, and only some if that is asked for, if there are such', async () => {
    const ran = await run(['contract', 'show', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toContainEqual({
      leaf: 'cron_jobs.list',
      value: 'GET /automation/partner-cron-jobs/',
      source: 'assumed',
      kind: 'operation',
    });
    const history = (await run(['contract', 'show', 'messages.history', '--source', 'assumed', '-o', 'json'])).json<
      Leaf[]
    >();
    expect(history.map(({ leaf }) => leaf)).toContain('messages.history.session_id');
    expect(history.every(({ leaf, source }) => leaf.startsWith('messages.history') && source === 'assumed')).toBe(true);
    const none = await run(['contract', 'show', 'mesages.history']);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean messages.history?') });
  });
});

describe('contract set and unset', () => {
  test('change the value only for this profile and service, in a file that only its owner can read', async () => {
    const { env, contract, overrides, stored } = home();
    const set = await contract('set', 'messages.history.session_id', 'query:sessionId', '-o', 'json');
    const changed = { leaf: 'messages.history.session_id', profile: 'default', base_url: env.PARTNER_BASE_URL };
    expect(set.json()).toEqual([
      { ...changed, value: 'query:sessionId', previous: 'query:session_id', source: 'override' },
    ]);
    expect(await overrides()).toMatchObject([{ value: 'query:sessionId', source: 'override' }]);
    const other = { ...env, PARTNER_BASE_URL: 'http://127.0.0.1:10/v1' };
    const elsewhere = await run(['contract', 'show', '--source', 'override', '-o', 'json'], { env: other });
    expect(elsewhere.json()).toEqual([]);
    expect(statSync(join(stored(), 'messages.history.session_id.json')).mode & 0o777).toBe(0o600);
    const unset = await contract('unset', 'messages.history.session_id', '-o', 'json');
    expect(unset.json()).toMatchObject([{ ...changed, value: 'query:session_id', source: 'assumed' }]);
    expect(await overrides()).toEqual([]);
  });

  test('set several values at once, and use them in calls', async () => {
    const fake = await startFakeService({ 'GET /workspaces': json([{ ref: 's1' }]) });
    const { env, contract, overrides } = home(fake.baseUrl);
    expect((await contract('set', 'spaces.list', 'GET /workspaces', 'space.id', 'ref')).code).toBe(0);
    expect(await overrides()).toMatchObject([{ value: 'GET /workspaces' }, { value: 'ref' }]);
    expect((await run(['spaces', 'list'], { env })).stdout).toMatch(/\ts1\t/);
  });

  test('reject what is not a value of a leaf, and set nothing', async () => {
    const { contract, overrides } = home();
    for (const [args, message] of [
      [['cron_jobs.list', 'GET', '/jobs/'], '/jobs/ has no value'],
      [['space.id', 'ref', 'agnt.id', 'ref'], 'Did you mean agent.id?'],
      [['spaces.list', 'GET /../admin/'], 'must be a method and a path'],
      [['agents.list', 'GET /agents/'], 'needs the placeholder {space_id}'],
      [['cron_jobs.create', 'none'], 'cannot be none'],
      [['spaces.list.next', 'cursor'], 'must be auto, none'],
    ] as const)
      expect(await contract('set', ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    expect(await overrides()).toEqual([]);
  });

  test('are ignored with a warning where this version has no such leaf, and named where a file is damaged', async () => {
    const fake = await startFakeService({ 'GET /workspaces': json([{ space_id: 's1' }]) });
    const { env, contract, stored } = home(fake.baseUrl);
    await contract('set', 'spaces.list', 'GET /workspaces');
    const list = (leaf: string, content: object) => {
      writeFileSync(join(stored(), `${leaf}.json`), JSON.stringify(content));
      return run(['spaces', 'list'], { env });
    };
    const ran = await list('spaces.sorting', { value: 'query:sort' });
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('s1') });
    expect(ran.stderr).toContain(`warning: The contract has no spaces.sorting, which ${stored()} sets: ignored.`);
    await contract('set', 'space.id', 'ref');
    await contract('unset', 'space.id');
    expect(readdirSync(stored()).toSorted()).toEqual(['spaces.list.json', 'spaces.sorting.json']);
    for (const [content, why] of [
      [{ value: 'GET //evil.test/' }, 'spaces.list must be a method'],
      [{}, 'spaces.list has no value'],
    ] as const) {
      const damaged = await list('spaces.list', content);
      expect(damaged).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
      expect(damaged.stderr).toContain(join(stored(), 'spaces.list.json'));
    }
  });

  test('of several processes at once, with an import, are all kept', async () => {
    const some = SIX.slice(0, propertyRuns(6, 1));
    const { env, contract, overrides, stored } = home();
    const document = write('openapi.json', JSON.stringify(SPACES_DOCUMENT));
    const changes = some.map(([leaf, value]) => start(['contract', 'set', leaf, value], { env }));
    const others = [start(['contract', 'import', document, '--yes'], { env })];
    for (const { exitCode, stderr } of await Promise.all([...changes, ...others])) expect(exitCode, stderr).toBe(0);
    const kept = (await overrides()).map(({ leaf, value }) => [leaf, value]);
    expect(kept.toSorted()).toEqual(some.toSorted());
    const imported = await contract('show', '--source', 'imported', '-o', 'json');
    expect(imported.json()).toMatchObject([{ leaf: 'spaces.list.items' }]);
    expect(readdirSync(stored())).toHaveLength(some.length + 1);
  });

  test('take the file of an earlier version over, at once and whole', async () => {
    const { env, contract, overrides, stored } = home();
    await contract('set', 'space.id', 'id');
    const old = `${stored()}.json`;
    rmSync(stored(), { recursive: true });
    const content = { overrides: { 'space.id': 'key', 'agent.id': 'key' }, imported: { 'space.name': 'label' } };
    writeFileSync(old, JSON.stringify({ profile: 'default', base_url: env.PARTNER_BASE_URL, ...content }));
    expect(await overrides()).toMatchObject([{ leaf: 'space.id' }, { leaf: 'agent.id' }]);
    expect(existsSync(old)).toBe(true);
    const words = [...SIX.map((each) => ['set', ...each]), ['unset', 'agent.id']];
    for (const { code, stderr } of await Promise.all(words.map((each) => contract(...each))))
      expect(code, stderr).toBe(0);
    const kept = (await overrides()).map(({ leaf, value }) => [leaf, value]);
    expect(kept.toSorted()).toEqual([...SIX, ['space.id', 'key']].toSorted());
    expect((await contract('show', 'space.name', '-o', 'json')).json()).toMatchObject([{ value: 'label' }]);
    expect(existsSync(old)).toBe(false);
  });
});
