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

/** The leaves that a document changes, and what it leaves open. */
async function read(paths: Data, schemas: Data = {}) {
  const document = await openDocument(JSON.stringify(openApi(paths, schemas)));
  const { proposals, questions } = proposeFromOpenApi(document);
  const changed = proposals.filter(({ leaf, value }) => value !== DEFAULTS[leaf]);
  return {
    changes: Object.fromEntries(changed.map(({ leaf, value }) => [leaf, value])),
    questions: questions.filter((each) => !each.startsWith('the document does not describe these operations')),
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
  expect((await read(two)).changes).toEqual({});
  expect((await read({ ...two, [SPACES]: spaces })).questions).toEqual([]);
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

  test('with a history by POST.', async () => {
    const entries = list(object('id', { payload: object('text') }, 'role', 'sent_at'));
    const post = write(object('channel', 'conversation', 'after'), object({ data: object({ entries }) }));
    expect((await read({ [HISTORY]: { post } })).changes).toEqual({
      'message.at': 'payload',
      'messages.history': `POST ${HISTORY}`,
      'messages.history.source_id': 'body:channel',
      'messages.history.session_id': 'body:conversation',
      'messages.history.after_message_id': 'body:after',
      'messages.history.items': 'data.entries',
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

const job = (schedule: Data, more: Data = {}) => ({
  [JOBS]: { post: write({ ...object('agent_id', 'name', 'instructions', { schedule }), ...more }, object('id')) },
});

test('What a document leaves open says nothing about its parts, even within an object without further properties.', async () => {
  for (const schedule of [{ type: 'object' }, { anyOf: [{ type: 'object' }, { type: 'null' }] }])
    expect(await read(job(schedule, { additionalProperties: false }))).toEqual({ changes: {}, questions: [] });
});

test('The file of a form is its only binary field, whatever its name is.', async () => {
  const binary = { type: 'string', format: 'binary' };
  for (const [properties, field] of [
    [{ payload: binary, title: text }, 'form:payload'],
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
