import { describe, expect, test } from 'vitest';
import { DEFAULTS } from '../../../src/contract/leaves.ts';
import { openDocument } from '../../../src/openapi/document.ts';
import { proposeFromOpenApi } from '../../../src/openapi/propose.ts';
import {
  type Data,
  list,
  object,
  openApi,
  operation,
  query,
  ref,
  text,
  write,
} from '../../support/openapi-documents.ts';

const SPACES = '/automation/spaces/';
const HISTORY = '/integrations/api-chat/history/';
const DOCUMENTS = '/automation/documents/';
const JOBS = '/automation/partner-cron-jobs/';

const BASE_URL = 'https://api.example.com/v1';

/** The leaves that a document changes, and what it leaves open. */
async function read(paths: Data, schemas: Data = {}, more: Data = {}) {
  const document = await openDocument(JSON.stringify(openApi(paths, schemas, more)));
  const { proposals, questions } = proposeFromOpenApi(document, BASE_URL);
  const changed = proposals.filter(({ leaf, value }) => value !== DEFAULTS[leaf]);
  return {
    changes: Object.fromEntries(changed.map(({ leaf, value }) => [leaf, value])),
    questions: questions.filter((each) => !each.startsWith('the document does not describe')),
  };
}

const spaces = { get: operation(list(object('space_id', 'external_space_id', 'name'))) };
const SPACES_READ = { 'spaces.list.items': '$' };

test('An operation is found by its path, whatever comes before it and with or without its trailing slash.', async () => {
  for (const path of [SPACES, `/v1${SPACES}`, `/api/v{version}${SPACES}`])
    expect(await read({ [path]: spaces }), path).toEqual({ changes: SPACES_READ, questions: [] });
  const bare = { ...SPACES_READ, 'spaces.list': 'GET /automation/spaces' };
  expect((await read({ '/automation/spaces': spaces })).changes).toEqual(bare);
  const other = { '/spaces': spaces, '/automation/spaces/{id}': spaces };
  expect((await read(other)).changes).toEqual({});
  const two = { [`/a${SPACES}`]: spaces, [`/b${SPACES}`]: spaces };
  expect(await read(two)).toEqual({
    changes: {},
    questions: [
      `the document has spaces.list in several places; run: partnerctl contract set spaces.list '<one of: GET /a${SPACES}, GET /b${SPACES}>'`,
    ],
  });
  expect((await read({ ...two, [SPACES]: spaces })).questions).toEqual([]);
});

const old = { get: operation(object({ old: list(object('id', 'name')) })) };
const current = { get: operation(object({ current: list(object('id', 'name')) })) };
const CURRENT = { 'spaces.list.items': 'current' };

test.each<readonly [string, Data]>([
  ['its path', { [`/v2${SPACES}`]: old, [`/v1${SPACES}`]: current }],
  ['no prefix', { [`/v2${SPACES}`]: old, [SPACES]: current }],
])('Of two versions in one document, the one below the base URL is read, by %s.', async (_, paths) => {
  expect((await read(paths)).changes).toMatchObject(CURRENT);
});

describe('The responses of a document are read', () => {
  test('as FastAPI writes them: references, nullable unions, plain lists, skip and limit.', async () => {
    const parameters = query({ skip: { type: 'integer', default: 0 } }, { limit: { type: 'integer', default: 100 } });
    const nullable = { anyOf: [text, { type: 'null' }] };
    const space = object('id', { external_space_id: nullable }, 'name', { parent: ref('SpaceOut') });
    const get = operation(list(ref('SpaceOut')), { parameters });
    expect(await read({ [SPACES]: { get } }, { SpaceOut: space })).toEqual({
      changes: { ...SPACES_READ, 'spaces.list.next': 'offset:skip' },
      questions: [],
    });
  });

  test.each([
    [text, undefined],
    [{ ...text, format: 'uri' }, 'link:next'],
    [object('after'), 'token:next.after:cursor'],
  ])('with a next page that is a link or a token only where the schema says so: %j.', async (next, expected) => {
    const page = object({ next }, { results: list(object('space_id', 'external_space_id', 'name')) });
    const { changes } = await read({ [SPACES]: { get: operation(page, { parameters: query('cursor') }) } });
    expect(changes['spaces.list.next']).toBe(expected);
  });
});

/** As Cloudflare documents its API. */
function cloudflare(result: Data): Data {
  const message = object({ code: { type: 'integer', minimum: 1000 } }, 'message');
  const messages = { ...list(message), example: [] };
  const success = { type: 'boolean', enum: [true], description: 'Whether the API call was successful' };
  const common = object(
    { errors: messages },
    { messages },
    { result: { anyOf: [{ type: 'object' }, list({}), text] } },
    { success },
  );
  const info = object('count', 'page', 'per_page', 'total_count');
  return { allOf: [common, object({ result }, ...(result.type === 'array' ? [{ result_info: info }] : []))] };
}

test('A response that has a place for an error, a result, or a status is no error.', async () => {
  const status = { type: 'string', enum: ['failed', 'active'] };
  const code = { type: 'integer', enum: [404] };
  const item = object('id', 'external_space_id', 'name', { status }, { code }, { outcome: object('text') });
  const parameters = query({ page: { type: 'integer', default: 1 } }, { per_page: { type: 'integer', maximum: 50 } });
  const get = operation(cloudflare(list(item)), { parameters });
  const post = write(
    object('agent_id', 'name', 'instructions', { schedule: {} }),
    cloudflare(object('id', { status })),
  );
  expect(await read({ [SPACES]: { get }, [JOBS]: { post } })).toEqual({
    changes: { 'spaces.list.items': 'result', 'spaces.list.next': 'page:page', 'spaces.list.size': 'per_page:50' },
    questions: [],
  });
  for (const success of [{ type: 'boolean' }, { type: 'boolean', enum: [false, true] }]) {
    const envelope = object({ success }, { status }, { result: object('text') }, { rows: list(item) }, { errors: {} });
    expect((await read({ [SPACES]: { get: operation(envelope) } })).changes).toMatchObject({
      'spaces.list.items': 'rows',
    });
  }
});

test('A parameter that is required does not turn a list off: it may ask for a page.', async () => {
  const parameters = query({ page: { type: 'number' } }).map((each) => ({ ...each, required: true }));
  const get = operation(list(object('id', 'agent_id', 'name')), { parameters });
  expect(await read({ [JOBS]: { get } })).toEqual({
    changes: { 'cron_jobs.list.items': '$', 'cron_jobs.list.next': 'page:page' },
    questions: [],
  });
});

test('The size of a page is its documented maximum, at most 1000; a time is no cursor.', async () => {
  const number = { type: 'number', maximum: 5000 };
  const since = { type: 'string', format: 'date-time' };
  const jobs = operation(list(object('id', 'agent_id', 'name')), {
    parameters: query({ after: since }, { limit: number }),
  });
  const { changes } = await read({ [JOBS]: { get: jobs } });
  expect(changes).toEqual({
    'cron_jobs.list.items': '$',
    'cron_jobs.list.size': 'limit:1000',
  });
});

describe('What a document leaves open names what is there, and the command', () => {
  const entries = list(object('message_id', 'text', 'role', 'created_at'));

  test('for the parameters of a history, of which a time is no cursor.', async () => {
    const since = { type: 'string', format: 'date-time' };
    const parameters = query('source_id', 'topic', 'lane', { since }, { limit: { type: 'integer' } });
    const { questions } = await read({ [HISTORY]: { get: operation(entries, { parameters }) } });
    const set = (leaf: string) =>
      `GET ${HISTORY} has no parameter that is called like ${leaf}; run: partnerctl contract set ${leaf} '<one of: query:topic, query:lane, query:since>'`;
    expect(questions).toEqual(['messages.history.session_id', 'messages.history.after_message_id'].map(set));
  });

  test('for the fields of a response.', async () => {
    const rows = list(object('nickname', 'about'));
    const { questions } = await read({ [SPACES]: { get: operation(rows) } });
    expect(questions).toEqual([expect.stringMatching(/nickname.*about.*partnerctl contract set space\.id /)]);
  });
});

test('The file of a form is its only binary field, or its only field, whatever its name is.', async () => {
  const binary = { type: 'string', format: 'binary' };
  for (const [properties, field] of [
    [{ payload: binary, title: text }, 'form:payload'],
    [{ payload: text }, 'form:payload'],
    [{ one: binary, two: binary, kind: text }, undefined],
  ] as const) {
    const requestBody = { content: { 'multipart/form-data': { schema: object(properties) } } };
    const { changes, questions } = await read({
      [DOCUMENTS]: { post: operation(object('document_id'), { requestBody }) },
    });
    expect(changes['documents.create.file']).toBe(field);
    expect(questions).toHaveLength(field === undefined ? 1 : 0);
  }
});
