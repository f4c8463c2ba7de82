import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { startFakeService } from '../support/fake-service.ts';
import { type Data, list, object, openApi, operation, query, text } from '../support/openapi-documents.ts';
import { type Ran, run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';

/** A document with the list of spaces. */
function spacesDocument(more: Data = {}): Data {
  const rows = list(object('id', 'customerRef', 'name', 'clientReference'));
  return openApi({ '/automation/spaces/': { get: operation(object({ rows })) } }, {}, more);
}

function home(PARTNER_BASE_URL = 'http://127.0.0.1:9/v1') {
  const env = { PARTNER_CONFIG_DIR: tempDirectory(), PARTNER_BASE_URL, PARTNER_TOKEN: 'secret-token-1' };
  const contracts = join(env.PARTNER_CONFIG_DIR, 'contracts');
  return {
    env,
    importFrom: (source: string, ...flags: string[]): Promise<Ran> =>
      run(['contract', 'import', source, ...flags], { env }),
    importText: (document: Data | string, ...flags: string[]): Promise<Ran> => {
      const path = write('doc', typeof document === 'string' ? document : JSON.stringify(document));
      return run(['contract', 'import', path, ...flags], { env });
    },
    value: async (leaf: string) => {
      const shown = await run(['contract', 'show', leaf, '-o', 'json'], { env });
      const [found] = shown.json<{ value: string; source: string }[]>();
      return `${found?.value} (${found?.source})`;
    },
    stored: () => (existsSync(contracts) ? readdirSync(contracts).map((name) => join(contracts, name)) : []),
  };
}

describe('contract import', () => {
  test('shows the old and the new value of each change, and writes with --yes, to a private file.', async () => {
    const { importFrom, value, stored } = home();
    const path = write('openapi.json', JSON.stringify(spacesDocument()));
    const shown = await importFrom(path, '-o', 'json');
    expect(shown.code).toBe(0);
    const evidence = 'GET /automation/spaces/, response';
    const change = { leaf: 'spaces.list.items', old: 'auto', new: 'rows', evidence };
    expect(shown.json()).toMatchObject({ written: false, changes: expect.arrayContaining([change]) });
    expect(shown.stderr).toContain('Nothing was written.');
    expect(shown.stderr).toMatch(
      /open: the document does not describe agents\.list, .*partnerctl contract set agents\.list '<METHOD> <path>'/,
    );
    expect(stored()).toEqual([]);

    expect((await importFrom(path, '--yes')).code).toBe(0);
    expect(await value('spaces.list.items')).toBe('rows (imported)');
    const [contract = ''] = stored();
    expect(statSync(join(contract, 'imported.json')).mode & 0o777).toBe(0o600);
    expect(await importFrom(path)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('Nothing to change'),
    });
  });

  test('replaces all that was imported before, and no override.', async () => {
    const { importText, value, env } = home();
    await run(['contract', 'set', 'spaces.list.items', 'data'], { env });
    const paged = object({ rows: list(object('space_id', 'name')), next_cursor: text });
    const before = openApi({ '/automation/spaces/': { get: operation(paged, { parameters: query('cursor') }) } });
    await importText(before, '--yes');
    expect(await value('spaces.list.next')).toBe('token:next_cursor:cursor (imported)');
    const replaced = await importText(spacesDocument(), '--yes', '-o', 'json');
    const dropped = { leaf: 'spaces.list.next', old: 'token:next_cursor:cursor', new: 'auto' };
    expect(replaced.json()).toMatchObject({ changes: expect.arrayContaining([expect.objectContaining(dropped)]) });
    expect(await value('spaces.list.next')).toBe('auto (assumed)');
    expect(await value('spaces.list.items')).toBe('data (override)');
  });

  test('finds the document from the address of the service.', async () => {
    const service = await startFakeService(({ path }, response) => {
      if (path === '/v1/openapi.yaml') return response.end(stringify(spacesDocument()));
      // Some services answer unknown paths with the page of their application.
      if (path === '/v1/openapi.json') return response.end('<!doctype html><title>App</title>');
      return response.writeHead(404).end();
    });
    const ran = await home().importFrom(`${service.baseUrl}/`, '-o', 'json');
    expect(ran.json()).toMatchObject({ document: { from: `${service.baseUrl}/openapi.yaml` } });
  });

  test('says where it looked if the service publishes no document, and why one cannot be downloaded.', async () => {
    const { baseUrl } = await startFakeService(({ path }, response) =>
      path.endsWith('/silent') ? undefined : response.writeHead(Number(/\d{3}$/.exec(path)?.[0] ?? 404)).end(),
    );
    for (const [address, code, message] of [
      [baseUrl, 4, `${baseUrl.replace('/v1', '')}/latest/openapi.json`],
      [`${baseUrl}/401`, 3, 'no token is sent for it'],
      [`${baseUrl}/404`, 4, 'Check the address'],
      [`${baseUrl}/500`, 8, 'failed (500)'],
      [`${baseUrl}/silent`, 8, 'No response'],
      ['http://api.example.com/openapi.json', 2, 'plain http'],
    ] as const) {
      const ran = await home().importFrom(address, '--timeout', address.endsWith('silent') ? '200ms' : '1m');
      expect(ran).toMatchObject({ code, stderr: expect.stringContaining(message) });
    }
  });
});

const bomb = Array.from(
  { length: 12 },
  (_, index) => `x${index}: &a${index} [${index === 0 ? '1' : `${`*a${index - 1},`.repeat(9)}`}]`,
);
const withReference = ($ref: string) => JSON.stringify({ openapi: '3.1.0', paths: { '/a': { $ref } } });
describe('A document that cannot be used is rejected, and nothing changes:', () => {
  test.each<readonly [string, string, RegExp]>([
    ['broken JSON', '{\n  "openapi": "3.1.0",\n  "paths": {,}\n}', /Unexpected , in flow map.* at line 3, column 13/],
    ['Swagger 2.0', '{"swagger": "2.0", "paths": {"/a": {}}}', /it is not an OpenAPI 3.0, 3.1, or 3.2 document/],
    ['another service', JSON.stringify(openApi({ '/pets': {} })), /The document has no operation of the API/],
    ['a reference to a file', withReference('../secret.json#/x'), /secret\.json/],
    ['a bomb of aliases', `openapi: 3.1.0\npaths:\n  /a: {}\n${bomb.join('\n')}\n`, /alias/],
    ['deep nesting', `{"openapi": "3.1.0", "paths": ${'{"a":'.repeat(5e3)}1${'}'.repeat(5e3)}}`, /call stack/],
    ['more than 10 MiB', `{"x": "${'a'.repeat(11 * 1024 * 1024)}"}`, /it is larger than 10 MiB/],
  ])('%s.', async (_, document, message) => {
    const { importText, stored } = home();
    const ran = await importText(document, '--yes');
    expect(ran.stderr).toMatch(message);
    expect(ran.stderr).toMatch(/nothing was changed/i);
    expect(ran.code).toBe(2);
    expect(stored()).toEqual([]);
  });
});

test('A hostile document reaches no prototype, no terminal, and no other server.', async () => {
  const document = JSON.stringify(spacesDocument({ servers: [{ url: 'https://evil.example/v1' }] }))
    .replaceAll('"name"', '"__proto__"')
    .replaceAll('"rows"', '"ro\\u001b[2Jws"')
    .replace('"title":"', '"title":"\\u001b]0;owned\\u0007');
  const { importText, env } = home();
  for (const flags of [['--yes'], ['-o', 'json']]) {
    const { stdout, stderr } = await importText(document, ...flags);
    expect(stdout + stderr).not.toMatch(/[\u001b\u0007]/);
  }
  expect(Object.hasOwn(Object.prototype, 'id')).toBe(false);
  expect((await run(['contract', 'show', '-o', 'json'], { env })).stdout).not.toContain('evil');
});
