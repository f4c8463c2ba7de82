import { describe, expect, test } from 'vitest';
import { LEAVES } from '../../../src/contract/leaves.ts';
import { proposeFromOpenApi } from '../../../src/openapi/propose.ts';
import {
  type Data,
  list,
  object,
  openApi,
  operation,
  query,
  text,
  upload,
  write,
} from '../../support/openapi-documents.ts';

const JOBS = '/automation/partner-cron-jobs/';
const DOCUMENTS = '/automation/documents/';

/** The values that a document changes, and what it leaves open. */
async function read(paths: Data) {
  const { proposals, questions } = await proposeFromOpenApi(openApi(paths), '/v1');
  const changed = proposals.filter(({ leaf, value }) => value !== LEAVES[leaf].value);
  return {
    changes: Object.fromEntries(changed.map(({ leaf, value }) => [leaf, value])),
    questions: questions.map(({ message }) => message),
  };
}

const job = (schedule: Data, more: Data = {}) => ({
  [JOBS]: { post: write({ ...object('agent_id', 'name', 'instructions', { schedule }), ...more }, object('id')) },
});

const binary = { type: 'string', format: 'binary' };
const form = (properties: Data, more: Data = {}): Data => {
  const schema = { ...object(properties), ...more };
  const requestBody = { content: { 'multipart/form-data': { schema } } };
  return { [DOCUMENTS]: { post: operation(object('document_id'), { requestBody }) } };
};

describe('What a document leaves open says nothing about its parts', () => {
  test.each<readonly [string, Data]>([
    ['an object without properties', { type: 'object' }],
    ['a schema that is empty', {}],
    ['an object with any properties', { type: 'object', additionalProperties: true }],
    ['an object with some properties beside any others', { ...object('timezone'), additionalProperties: {} }],
    ['an object or null', { anyOf: [{ type: 'object' }, { type: 'null' }] }],
  ])('%s, even within an object without further properties', async (_, schedule) => {
    const paths = job(schedule, { additionalProperties: false, required: ['agent_id', 'schedule'] });
    expect(await read(paths)).toEqual({ changes: {}, questions: [] });
  });

  test('a body that is an object of any kind', async () => {
    expect(await read({ [JOBS]: { post: write({ type: 'object' }, object('id')) } })).toEqual({
      changes: {},
      questions: [],
    });
  });

  test('but a closed object has no type, and what must be sent is a question', async () => {
    const schedule = { ...object({ data: object('minute', 'hour') }, 'timezone'), additionalProperties: false };
    expect(await read(job(schedule))).toEqual({
      changes: { 'cron_jobs.create.type': 'none' },
      questions: [`POST ${JOBS} has no parameter that looks like cron_jobs.create.day_of_week`],
    });
  });
});

test('A required parameter that the tool does not send is a complaint', async () => {
  const body = object('agent_id', 'name', 'instructions', { schedule: {} });
  const parameters = ['Authorization', 'X-Tenant'].map((name) => ({
    name,
    in: 'header',
    required: true,
    schema: text,
  }));
  const post = write(body, object('id'), { parameters });
  expect((await read({ [JOBS]: { post } })).questions).toEqual([
    `POST ${JOBS} requires header:X-Tenant, which the tool does not send`,
  ]);
});

test('A parameter of the specification has its name and its place, in any case', async () => {
  const post = write(object('AgentId', 'title', 'Instructions', { Schedule: {} }), object('id'));
  const { changes, questions } = await read({ [JOBS]: { post } });
  expect(changes).toEqual({
    'cron_jobs.create.agent_id': 'body:AgentId',
    'cron_jobs.create.instructions': 'body:Instructions',
  });
  expect(questions).toEqual([`POST ${JOBS} has no parameter that looks like cron_jobs.create.name`]);
});

test('The parameters of a history may be in the query or in the body', async () => {
  const path = '/integrations/api-chat/history/';
  const response = list(object('message_id', 'role', 'text'));
  const parameters = query('sourceId', 'sessionId', 'afterMessageId');
  expect((await read({ [path]: { get: operation(response, { parameters }) } })).changes).toMatchObject({
    'messages.history.source_id': 'query:sourceId',
    'messages.history.after_message_id': 'query:afterMessageId',
  });
  const post = write(object('source_id', 'session_id', 'after_message_id'), response);
  expect((await read({ [path]: { post } })).changes).toMatchObject({
    'messages.history': `POST ${path}`,
    'messages.history.source_id': 'body:source_id',
  });
});

describe('The file of a form is', () => {
  test.each<readonly [string, Data, string]>([
    ['its only binary field, whatever its name is', { payload: binary, title: text }, 'payload'],
    ['binary by its media type', { blob: { type: 'string', contentMediaType: 'application/octet-stream' } }, 'blob'],
    ['a list of files', { uploads: list(binary) }, 'uploads'],
    ['a name with brackets', { 'document[file]': binary, 'document[title]': text }, 'document[file]'],
    ['a field of an object', { document: object({ file: binary }, 'title') }, 'document[file]'],
    ['the one with a usual name among several', { thumbnail: binary, upload: binary }, 'upload'],
    ['one without a type with a usual name', { attachment: {}, title: text }, 'attachment'],
  ])('%s', async (_, properties, field) => {
    expect(await read(form(properties))).toEqual({
      changes: { 'documents.create.file': `form:${field}` },
      questions: [],
    });
  });

  test('a question if several fields may be it', async () => {
    const { changes, questions } = await read(form({ one: binary, two: binary, kind: text }));
    expect(changes).toEqual({});
    expect(questions).toEqual([`POST ${DOCUMENTS} has no parameter that looks like documents.create.file`]);
  });

  test('a question if the operation takes no form', async () => {
    const post = write(object('url'), object('document_id'));
    expect((await read({ [DOCUMENTS]: { post } })).questions).toEqual([
      `POST ${DOCUMENTS} has no parameter that looks like documents.create.file`,
    ]);
  });

  test('none with a name that nobody can read', async () => {
    expect((await read(form({ 'fi\u001ble': binary }))).changes).toEqual({});
  });

  test('the form, where an operation also takes JSON', async () => {
    const post = upload('doc', object('document_id')) as { requestBody: { content: Data } };
    post.requestBody.content = { 'application/json': { schema: object('url') }, ...post.requestBody.content };
    expect(await read({ [DOCUMENTS]: { post } })).toEqual({
      changes: { 'documents.create.file': 'form:doc' },
      questions: [],
    });
  });
});
