import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type FakeService, type Handler, json, sendJson, startFakeService } from '../support/fake-service.ts';
import {
  type Data,
  flag,
  list,
  object,
  openApi,
  operation,
  query,
  text,
  upload,
} from '../support/openapi-documents.ts';
import { type Ran, run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';

const BASE_URL = 'http://127.0.0.1:9/v1';

/** A document with the list of spaces, and its own fields. By default, its path is that of the specification. */
function spacesDocument(path = '/automation/spaces/', more: Data = {}): Data {
  return openApi(
    { [path]: { get: operation(object({ rows: list(object('id', 'customerRef', 'name', 'clientReference')) })) } },
    {},
    more,
  );
}

function home() {
  const HOME = tempDirectory();
  const env = {
    HOME,
    PARTNER_CONFIG_DIR: join(HOME, 'config'),
    PARTNER_BASE_URL: BASE_URL,
    PARTNER_TOKEN: 'secret-token-1',
  };
  const contracts = join(env.PARTNER_CONFIG_DIR, 'contracts');
  return {
    env,
    importFrom: (source: string, ...flags: string[]): Promise<Ran> =>
      run(['contract', 'import', source, ...flags], { env }),
    value: async (leaf: string): Promise<{ value: string; source: string }> => {
      const shown = await run(['contract', 'show', leaf, '-o', 'json'], { env });
      const [first] = shown.json<{ value: string; source: string }[]>();
      return { value: first?.value ?? '', source: first?.source ?? '' };
    },
    countImported: async (): Promise<number> =>
      (await run(['contract', 'show', '--source', 'imported', '-o', 'json'], { env })).json<unknown[]>().length,
    stored: (): string[] => {
      try {
        return readdirSync(contracts).map((name) => join(contracts, name));
      } catch {
        return [];
      }
    },
  };
}

function file(content: Data | string, name = 'openapi.json'): string {
  return write(name, typeof content === 'string' ? content : JSON.stringify(content));
}

interface Imported {
  readonly written: boolean;
  readonly document: { readonly from: string; readonly sha256: string };
  readonly changes: readonly {
    readonly leaf: string;
    readonly old: string;
    readonly new: string;
    readonly status: string;
  }[];
}

describe('contract import', () => {
  test('shows the old and the new value of each change, and writes nothing without --yes', async () => {
    const { importFrom, stored } = home();
    const ran = await importFrom(file(spacesDocument()), '-o', 'json');
    expect(ran.code).toBe(0);
    const { written, changes } = ran.json<Imported>();
    expect(written).toBe(false);
    expect(changes).toContainEqual(
      expect.objectContaining({
        leaf: 'spaces.list.items',
        old: 'auto',
        new: 'rows',
        status: 'change',
        evidence: 'GET /automation/spaces/, response',
      }),
    );
    expect(ran.stderr).toContain('Nothing was written. Add --yes');
    expect(stored()).toEqual([]);
  });

  test('writes with --yes, and keeps the hash and the date of the document in a private file', async () => {
    const { importFrom, value, countImported, stored } = home();
    const path = file(spacesDocument());
    const ran = await importFrom(path, '--yes');
    expect(ran).toMatchObject({ code: 0 });
    expect(await value('spaces.list.items')).toEqual({ value: 'rows', source: 'imported' });
    const counts = /^Wrote (\d+) values?, and (\d+) that agrees? with the contract\. All imported values:/m.exec(
      ran.stderr,
    );
    expect(Number(counts?.[1]) + Number(counts?.[2])).toBe(await countImported());
    const [contract = ''] = stored();
    expect(statSync(contract).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(contract, 'utf8')).document).toEqual({
      from: path,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      imported_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
  });

  test('says so if there is nothing to change', async () => {
    const { importFrom } = home();
    const path = file(spacesDocument());
    await importFrom(path, '--yes');
    const again = await importFrom(path);
    expect(again).toMatchObject({ code: 0, stdout: '' });
    expect(again.stderr).toContain('Nothing to change');
  });

  test('leaves values unchanged that the document does not mention', async () => {
    const { importFrom, value, env } = home();
    await run(['contract', 'set', 'cron_jobs.list', 'none'], { env });
    await importFrom(file(spacesDocument()), '--yes');
    expect(await value('cron_jobs.list')).toEqual({ value: 'none', source: 'override' });
    expect((await value('agents.list')).source).toBe('spec');
  });

  test('replaces all that was imported before, except with --only', async () => {
    const { importFrom, value } = home();
    const paged = object({ rows: list(object('space_id', 'name')), next_cursor: text });
    const before = openApi({ '/automation/spaces/': { get: operation(paged, { parameters: query('cursor') }) } });
    await importFrom(file(before), '--yes');
    expect(await value('spaces.list.next')).toEqual({ value: 'token:next_cursor:cursor', source: 'imported' });
    const path = file(spacesDocument());
    expect(await importFrom(path, '--yes', '--only', 'spaces.list.items')).toMatchObject({ code: 0 });
    expect((await value('spaces.list.next')).source).toBe('imported');
    const { changes } = (await importFrom(path, '--yes', '-o', 'json')).json<Imported>();
    expect(changes).toContainEqual(
      expect.objectContaining({ leaf: 'spaces.list.next', old: 'token:next_cursor:cursor', new: 'auto' }),
    );
    expect(await value('spaces.list.next')).toEqual({ value: 'auto', source: 'assumed' });
  });

  test('refuses the document of another service, and keeps what was imported', async () => {
    const it = home();
    await it.importFrom(write('openapi.json', JSON.stringify(spacesDocument())), '--yes');
    const imported = await it.countImported();
    expect(imported).toBeGreaterThan(0);
    const other = openApi({ '/pets': { get: operation(object({ pets: list(object('id', 'name')) })) } });
    const ran = await it.importFrom(write('pets.json', JSON.stringify(other)), '--yes');
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('The document has no operation of the API');
    expect(ran.stderr).toContain(`Give the OpenAPI document of ${BASE_URL}.`);
    expect(await it.countImported()).toBe(imported);
  });

  test('keeps an override in force over an imported value, and shows both', async () => {
    const { importFrom, value, env } = home();
    await run(['contract', 'set', 'spaces.list.items', 'data'], { env });
    const { changes } = (await importFrom(file(spacesDocument()), '--yes', '-o', 'json')).json<Imported>();
    expect(changes).toContainEqual(expect.objectContaining({ leaf: 'spaces.list.items', status: 'overridden' }));
    expect(await value('spaces.list.items')).toEqual({ value: 'data', source: 'override' });
  });

  test('shows an override that hides what was imported before, and how to end it', async () => {
    const { importFrom, env } = home();
    const path = file(spacesDocument());
    await importFrom(path, '--yes');
    await run(['contract', 'set', 'spaces.list.items', 'data'], { env });
    const again = await importFrom(path, '-o', 'json');
    expect(again.json<Imported>().changes).toMatchObject([
      { leaf: 'spaces.list.items', old: 'data', status: 'overridden' },
    ]);
    expect(again.stderr).toContain('To use the document: partnerctl contract unset spaces.list.items');
  });

  test('requires --accept for a value that contradicts the specification', async () => {
    const { importFrom, value, stored } = home();
    const path = file(spacesDocument('/tenant/automation/spaces/'));
    const refused = await importFrom(path, '--yes');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('1 value of the document contradicts the specification. Nothing was written.');
    expect(refused.stderr).toContain('spaces.list: GET /automation/spaces/ → GET /tenant/automation/spaces/');
    expect(stored()).toEqual([]);
    expect((await importFrom(path, '--yes', '--accept')).code).toBe(0);
    expect(await value('spaces.list')).toEqual({ value: 'GET /tenant/automation/spaces/', source: 'imported' });
  });

  test('takes a missing trailing slash as a change, and not as a contradiction of the specification', async () => {
    const { importFrom, value } = home();
    expect(await importFrom(file(spacesDocument('/automation/spaces')), '--yes')).toMatchObject({ code: 0 });
    expect(await value('spaces.list')).toEqual({ value: 'GET /automation/spaces', source: 'imported' });
  });

  test('says where a document is not valid, and reads what it says nevertheless', async () => {
    const ran = await home().importFrom(file(spacesDocument()), '--yes');
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stderr).toContain(
      "open: the document is not valid OpenAPI: #/paths/~1automation~1spaces~1/get/responses/200 must have required property 'description'",
    );
  });

  test('imports only the values in --only', async () => {
    const { importFrom, value } = home();
    const path = file(spacesDocument('/tenant/automation/spaces/'));
    expect(await importFrom(path, '--yes', '--only', 'spaces.list.items')).toMatchObject({ code: 0 });
    expect((await value('spaces.list.items')).source).toBe('imported');
    expect((await value('spaces.list')).source).toBe('spec');
  });

  test('reads YAML from standard input', async () => {
    const { env } = home();
    const yaml =
      'openapi: 3.0.0\npaths:\n  /automation/spaces/:\n    get:\n      responses:\n        200:\n          content: {application/json: {schema: {type: array, items: {type: object, properties: {key: {type: string}}}}}}\n';
    const ran = await run(['contract', 'import', '-', '-o', 'json'], { env, stdin: yaml });
    expect(ran.json<Imported>().changes.map(({ leaf }) => leaf)).toContain('spaces.list.items');
  });

  test('downloads a document without the token, follows a redirect on the same origin, and drops the query from the stored URL', async () => {
    const service = await startFakeService({
      'GET /openapi.json': json(spacesDocument()),
      'GET /newest': (_, response) => response.writeHead(302, { location: '/v1/openapi.json' }).end(),
    });
    const { importFrom } = home();
    const ran = await importFrom(`${service.baseUrl}/newest?key=abc`, '-o', 'json');
    expect(ran.code).toBe(0);
    expect(ran.json<Imported>().document.from).toBe(`${service.baseUrl}/newest`);
    expect(service.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/v1/newest?key=abc', undefined],
      ['/v1/openapi.json', undefined],
    ]);
  });

  test.each([
    ['/v1/openapi.json', JSON.stringify(spacesDocument())],
    ['/v1/openapi.yaml', stringify(spacesDocument())],
    ['/latest/openapi.json', JSON.stringify(spacesDocument())],
    ['/openapi.json', JSON.stringify(spacesDocument())],
  ])('finds the document at %s if it gets the address of the service', async (published, text) => {
    const service = await startFakeService(({ path }, response) => {
      if (path === published) return response.end(text);
      // Some services answer unknown paths with the page of their application, or want a token first.
      if (path === '/v1/openapi.json') return response.end('<!doctype html><title>App</title>');
      return response.writeHead(path.startsWith('/latest') ? 401 : 404).end();
    });
    for (const address of [service.baseUrl, `${service.baseUrl}/`, new URL(service.baseUrl).origin]) {
      const ran = await home().importFrom(address, '-o', 'json');
      expect(ran.json<Imported>().document.from).toBe(new URL(published, service.baseUrl).href);
    }
    expect(service.requests.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
  });

  test('says where it looked for the document if the service publishes none', async () => {
    const service = await startFakeService(json({}, 404));
    const ran = await home().importFrom(service.baseUrl, '--yes');
    expect(ran.code).toBe(4);
    expect(ran.stderr).toContain(`${service.baseUrl}/openapi.json`);
    expect(ran.stderr).toContain('Give the URL of the document itself, or a file.');
  });

  test('does not follow a redirect to another origin', async () => {
    const other = await startFakeService(json(spacesDocument()));
    const service = await startFakeService((_, response) =>
      response.writeHead(302, { location: `${other.baseUrl}/openapi.json` }).end(),
    );
    const ran = await home().importFrom(`${service.baseUrl}/openapi.json`);
    expect(ran.code).toBe(8);
    expect(ran.stderr).toContain('redirects to other services are not followed');
    expect(other.requests).toEqual([]);
  });

  test.each([
    [401, 3, 'no token is sent for it'],
    [404, 4, 'Check the address of the document.'],
    [500, 8, 'Run the command again later.'],
  ])('for a response with status %i exits with %i', async (status, code, hint) => {
    const service: FakeService = await startFakeService(json({}, status));
    const ran = await home().importFrom(`${service.baseUrl}/openapi.json`);
    expect(ran.code).toBe(code);
    expect(ran.stderr).toContain(hint);
  });

  test('stops at --timeout if the document does not arrive', async () => {
    const service = await startFakeService(() => undefined);
    const ran = await home().importFrom(`${service.baseUrl}/openapi.json`, '--timeout', '200ms');
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).toContain('--timeout');
  });

  test.each([
    ['http://api.example.com/openapi.json', 'plain http'],
    ['https://user:pass@api.example.com/openapi.json', 'credentials'],
  ])('rejects the URL %s before anything is sent', async (address, reason) => {
    const ran = await home().importFrom(address);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(reason);
    expect(ran.stderr).not.toContain('user:pass');
  });
});

const bomb = Array.from(
  { length: 12 },
  (_, index) => `x${index}: &a${index} [${index === 0 ? '1' : `${`*a${index - 1},`.repeat(9)}`}]`,
);

describe('a document that cannot be used is rejected with its position, and nothing changes:', () => {
  test.each<readonly [string, string, RegExp]>([
    ['broken JSON', '{\n  "openapi": "3.1.0",\n  "paths": {,}\n}', /doc:3:13: invalid YAML: Unexpected , in flow map/],
    ['JSON that is cut off', '{"openapi": "3.1.0", "paths": {', /doc:1:31: this bracket is not closed/],
    ['broken YAML', 'openapi: 3.1.0\npaths:\n  /a: [\n', /doc:3:7: this bracket is not closed/],
    ['duplicate keys', 'openapi: 3.1.0\npaths:\n  /a: {}\n  /a: {}\n', /doc:4:3: duplicate key "\/a"/],
    ['Swagger 2.0', '{"swagger": "2.0", "paths": {"/a": {}}}', /doc:1:13: it is a Swagger 2.0 document/],
    ['a version that is an object', '{"swagger": {"toString": 1}, "paths": {}}', /it is a Swagger/],
    ['OpenAPI 4', 'openapi: 4.0.0\npaths: {/a: {}}', /doc:1:10: its version "4.0.0" is not supported/],
    [
      'another kind of document',
      'name: acme\nagents: []\n',
      /it is not an OpenAPI document: it has no "openapi" version/,
    ],
    ['a list', '[1, 2]', /it is not an OpenAPI document, but an array of 2/],
    ['HTML', '<!doctype html><title>API</title>', /it is not an OpenAPI document, but the string "<!doctype html>/],
    ['nothing', '', /this source contains no document/],
    ['no paths', '{"openapi": "3.1.0", "paths": {}}', /it describes no paths/],
    [
      'an external reference',
      JSON.stringify({ openapi: '3.1.0', paths: { '/a': { $ref: 'https://evil.example/a.json' } } }),
      /points out of the document/,
    ],
    [
      'a reference to itself',
      JSON.stringify({ openapi: '3.1.0', paths: { '/a': { $ref: '#/paths/~1a' } } }),
      /refers to itself/,
    ],
    [
      'a reference to nothing',
      JSON.stringify({ openapi: '3.1.0', paths: { '/a': { $ref: '#/components/x' } } }),
      /leads to nothing/,
    ],
    [
      'a bomb of aliases',
      `openapi: 3.1.0\npaths:\n  /a: {}\n${bomb.join('\n')}\n`,
      /doc:1:1: its aliases stand for too many values/,
    ],
    ['deep nesting', `openapi: 3.1.0\npaths: ${'['.repeat(5_000)}`, /doc:2:\d+: nested too deep/],
    [
      'deep nesting in JSON',
      `{"openapi": "3.1.0", "paths": ${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}`,
      /doc:1:\d+: nested too deep/,
    ],
    ['two documents', 'openapi: 3.1.0\npaths: {/a: {}}\n---\nopenapi: 3.1.0\n', /a second document/],
  ])('%s', async (_, text, message) => {
    const { importFrom, stored } = home();
    const ran = await importFrom(write('doc', text), '--yes');
    expect(ran.stderr).toMatch(message);
    expect(ran.stderr).toContain('nothing was changed');
    expect(ran.code).toBe(2);
    expect(stored()).toEqual([]);
  });

  test('a document of more than 10 MiB', async () => {
    const { importFrom, stored } = home();
    const ran = await importFrom(write('doc', `{"x": "${'a'.repeat(11 * 1024 * 1024)}"}`), '--yes');
    expect(ran).toMatchObject({ code: 2 });
    expect(ran.stderr).toContain('it is larger than 10 MiB');
    expect(stored()).toEqual([]);
  });

  test.each<readonly [string, Handler, RegExp]>([
    [
      'a download of more than 10 MiB is cut off',
      async (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const piece = 'a'.repeat(1024 * 1024);
        for (let sent = 0; sent < 40 && !response.destroyed; sent += 1) {
          await new Promise((resolve) => response.write(sent === 0 ? `{"x": "${piece}` : piece, resolve));
        }
        response.end('"}');
      },
      /larger than 10 MiB/,
    ],
    [
      'a small download that unpacks to 20 MiB is refused',
      (_, response) => {
        const packed = gzipSync(`{"x": "${'a'.repeat(20 * 1024 * 1024)}"}`);
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(packed);
      },
      /larger than 10 MiB/,
    ],
    [
      'a page of HTML is refused',
      (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html><title>Docs</title></html>'),
      /it is not an OpenAPI document, but the string "<html>/,
    ],
  ])('%s', async (_, handler, message) => {
    let written = 0;
    const service = await startFakeService((request, response, count) => {
      response.on('close', () => {
        written += response.socket?.bytesWritten ?? request.connection.bytesWritten;
      });
      return handler(request, response, count);
    });
    const { importFrom, stored } = home();
    const ran = await importFrom(`${service.baseUrl}/openapi.json`, '--yes');
    expect(ran.stderr).toMatch(message);
    expect(ran.code).not.toBe(0);
    expect(stored()).toEqual([]);
    expect(written).toBeLessThan(30 * 1024 * 1024);
  });
});

describe('a hostile document', () => {
  test.each<readonly [string, string, RegExp]>([
    ['a reference to a file', '{"$ref": "file:///etc/passwd"}', /points out of the document/],
    ['a reference to a file next to it', '{"$ref": "../secret.json#/x"}', /points out of the document/],
  ])('is rejected: %s', async (_, path, message) => {
    const { importFrom, stored } = home();
    const ran = await importFrom(write('doc', `{"openapi": "3.1.0", "paths": {"/a": ${path}}}`), '--yes');
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
    expect(stored()).toEqual([]);
  });

  test('is rejected: a schema that contains itself through allOf and oneOf', async () => {
    const schemas = {
      A: { allOf: [{ $ref: '#/components/schemas/B' }, { type: 'object', properties: { id: { type: 'string' } } }] },
      B: { oneOf: [{ $ref: '#/components/schemas/A' }, { $ref: '#/components/schemas/B' }] },
    };
    const get = operation({ type: 'array', items: { $ref: '#/components/schemas/A' } });
    const document = openApi({ '/automation/spaces/': { get } }, {}, { components: { schemas } });
    const ran = await home().importFrom(file(document), '-o', 'json');
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('a schema contains itself') });
  });

  test('may use names of object prototypes', async () => {
    const { importFrom } = home();
    const text = JSON.stringify(spacesDocument())
      .replaceAll('"rows"', '"__proto__"')
      .replaceAll('"name"', '"constructor"');
    const ran = await importFrom(write('doc', text), '--yes', '-o', 'json');
    expect(ran).toMatchObject({ code: 0 });
    expect(Object.hasOwn(Object.prototype, 'id')).toBe(false);
    expect(({} as Record<string, unknown>).items).toBeUndefined();
  });

  test('cannot send escape sequences in its names to the terminal', async () => {
    const { importFrom } = home();
    const text = JSON.stringify(spacesDocument())
      .replaceAll('"rows"', '"ro\\u001b[2Jws"')
      .replace('"title":"', '"title":"\\u001b]0;owned\\u0007');
    for (const flags of [[], ['--yes'], ['-o', 'json']]) {
      const ran = await importFrom(write('doc', text), ...flags);
      expect(`${ran.stdout}${ran.stderr}`).not.toMatch(/[\u001b\u0007]/);
    }
  });

  test('cannot move requests to another server', async () => {
    const { importFrom, env } = home();
    const document = spacesDocument('/automation/spaces/', { servers: [{ url: 'https://evil.example/v1' }] });
    expect(await importFrom(file(document), '--yes')).toMatchObject({ code: 0 });
    const shown = await run(['contract', 'show', '-o', 'json'], { env });
    expect(shown.stdout).not.toContain('evil');
  });
});

test.each([
  ['0, which the document', 0, 'document'],
  ['1, which the document', 1, 'document'],
  ['0, which the override', 0, 'override'],
  ['1, which the override', 1, 'override'],
])('a list is read without a gap if pages count from %s does not say', async (_, start, from) => {
  const ids = ['s1', 's2', 's3', 's4', 's5', 's6', 's7'];
  const { baseUrl } = await startFakeService(({ query: sent }, response) => {
    const first = (Number(sent.get('page') ?? start) - start) * 2;
    const items = ids.slice(first, first + 2).map((space_id) => ({ space_id, name: space_id }));
    sendJson(response, { items, has_more: first + 2 < ids.length });
  });
  const { env, importFrom } = home();
  env.PARTNER_BASE_URL = baseUrl;
  const parameters = query({ page: { type: 'integer' } });
  const spaces = operation(object({ items: list(object('space_id', 'name')), has_more: flag }), { parameters });
  const source = file(openApi({ '/automation/spaces/': { get: spaces } }));
  if (from === 'document') expect((await importFrom(source, '--yes')).stdout).toContain('page:page');
  else expect((await run(['contract', 'set', 'spaces.list.next', 'page:page'], { env })).code).toBe(0);
  const listed = await run(['spaces', 'list', '-o', 'json', '--query', '[].space_id'], { env });
  expect(listed.json()).toEqual(ids);
});

describe('an imported next page', () => {
  /** FastAPI's bare arrays: nothing in a response says that there is more. */
  async function bareArrays(count: number) {
    const all = Array.from({ length: count }, (_, index) => ({ space_id: `s${index}`, name: `Space ${index}` }));
    const service = await startFakeService(({ query: sent }, response) => {
      const offset = Number(sent.get('offset') ?? 0);
      sendJson(response, all.slice(offset, offset + Number(sent.get('limit') ?? 3)));
    });
    const { env, importFrom } = home();
    env.PARTNER_BASE_URL = service.baseUrl;
    const parameters = query({ offset: { type: 'integer' } }, { limit: { type: 'integer' } });
    const get = operation(list(object('space_id', 'name')), { parameters });
    await importFrom(file(openApi({ '/automation/spaces/': { get } })), '--yes');
    const listed = await run(['spaces', 'list', '-o', 'json', '--query', 'length(@)'], { env });
    return { count: listed.json(), requests: service.requests.map(({ path }) => path) };
  }

  test('is requested although no page announces it, until a page brings nothing', async () => {
    expect(await bareArrays(7)).toEqual({
      count: 7,
      requests: [
        '/v1/automation/spaces/',
        '/v1/automation/spaces/?offset=3',
        '/v1/automation/spaces/?offset=6',
        '/v1/automation/spaces/?offset=7',
      ],
    });
  });
});

test('a form field with brackets, as in Rails, is imported, and sent as it is', async () => {
  const service = await startFakeService({ 'POST /automation/documents/': json({ document_id: 'd1' }, 201) });
  const { env, importFrom } = home();
  env.PARTNER_BASE_URL = service.baseUrl;
  const post = upload('document[file]', object('document_id'));
  await importFrom(file(openApi({ '/automation/documents/': { post } })), '--yes');
  const sent = await run(['upload', write('notes.txt', 'Hello'), '--as', 'document'], { env });
  expect(sent.code).toBe(0);
  expect(service.requests.map(({ body }) => body)).toEqual([expect.stringContaining('name="document[file]"')]);
});
