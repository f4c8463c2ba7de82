import { describe, expect, test } from 'vitest';
import { DEFAULTS } from '../../../src/contract/leaves.ts';
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
  upload,
  write,
} from '../../support/openapi-documents.ts';

const SPACES = '/automation/spaces/';
const HISTORY = '/integrations/api-chat/history/';
const DOCUMENTS = '/automation/documents/';
const JOBS = '/automation/partner-cron-jobs/';

/** The leaves that a document changes, and what it leaves open. */
async function read(paths: Data, schemas: Data = {}, more: Data = {}) {
  const { proposals, questions } = await proposeFromOpenApi(openApi(paths, schemas, more), '/v1');
  const changed = proposals.filter(({ leaf, value }) => value !== DEFAULTS[leaf]);
  return {
    changes: Object.fromEntries(changed.map(({ leaf, value }) => [leaf, value])),
    questions: questions.map(({ message }) => message),
  };
}

const binary = { type: 'string', format: 'binary' };
const nullable = { anyOf: [text, { type: 'null' }] };

describe('The responses of a document are read', () => {
  test('as FastAPI writes them: references, nullable unions, plain lists, skip and limit', async () => {
    const parameters = query({ skip: { type: 'integer', default: 0 } }, { limit: { type: 'integer', default: 100 } });
    const space = { ...object('id', { external_space_id: nullable }, 'name'), required: ['id'] };
    const get = operation(list(ref('SpaceOut')), { parameters });
    expect(await read({ '/automation/spaces': { get } }, { SpaceOut: space })).toEqual({
      changes: { 'spaces.list': 'GET /automation/spaces', 'spaces.list.items': '$', 'spaces.list.next': 'offset:skip' },
      questions: [],
    });
  });

  test('with a history by POST, and an author with another role name', async () => {
    const author = { ...text, enum: ['customer', 'concierge'] };
    const entries = list(object('id', { payload: object('text') }, { role: author }, 'sent_at'));
    const post = write(object('channel', 'conversation', 'after'), object({ data: object({ entries }) }));
    expect((await read({ [HISTORY]: { post } })).changes).toEqual({
      'messages.history': `POST ${HISTORY}`,
      'messages.history.source_id': 'body:channel',
      'messages.history.session_id': 'body:conversation',
      'messages.history.after_message_id': 'body:after',
      'messages.history.items': 'data.entries',
      'message.author.agent': `${DEFAULTS['message.author.agent']}, concierge`,
    });
  });

  test('of a write by its 201, and as of a success where a status may also be that of a failure', async () => {
    const of = (schema: Data) => ({ description: 'done', content: { 'application/json': { schema } } });
    const status = { ...text, enum: ['error', 'active'] };
    const responses = {
      '200': of(object('ok', 'error')),
      '201': of(object({ status }, 'message', { document: object('document_ref') })),
      '202': of(object('task_ref', { kind: { ...text, enum: ['operation'] } })),
    };
    const post = upload('file', {}, { responses });
    expect((await read({ [DOCUMENTS]: { post } })).changes).toEqual({
      'document.id': `document.document_ref, ${DEFAULTS['document.id']}`,
    });
  });

  test.each([
    [text, undefined],
    [{ ...text, format: 'uri' }, 'link:next'],
    [object('href'), 'link:next'],
    [object('after'), 'token:next.after:cursor'],
  ])('with a next page that is a link or a token only where the schema says so: %j', async (next, expected) => {
    const page = object({ next }, { results: list(object('space_id', 'external_space_id', 'name')) });
    const { changes } = await read({ [SPACES]: { get: operation(page, { parameters: query('cursor') }) } });
    expect(changes['spaces.list.next']).toBe(expected);
  });
});

const job = (schedule: Data, more: Data = {}) => ({
  [JOBS]: { post: write({ ...object('agent_id', 'name', 'instructions', { schedule }), ...more }, object('id')) },
});

describe('What a document leaves open says nothing about its parts', () => {
  test.each<readonly [string, Data]>([
    ['an object without properties', { type: 'object' }],
    ['an object or null', { anyOf: [{ type: 'object' }, { type: 'null' }] }],
  ])('%s, even within an object without further properties', async (_, schedule) => {
    const paths = job(schedule, { additionalProperties: false, required: ['agent_id', 'schedule'] });
    expect(await read(paths)).toEqual({ changes: {}, questions: [] });
  });

  test('but a closed object has no type, and what must be sent is a question', async () => {
    const schedule = { ...object({ data: object('minute', 'hour') }, 'timezone'), additionalProperties: false };
    expect(await read(job(schedule))).toEqual({
      changes: { 'cron_jobs.create.type': 'none' },
      questions: [`POST ${JOBS} has no parameter that looks like cron_jobs.create.day_of_week`],
    });
  });
});

test('A parameter of the specification has its name and its place in any case, and one that is not sent is a complaint', async () => {
  const headers = ['Authorization', 'X-Tenant'].map((name) => ({ name, in: 'header', required: true, schema: text }));
  const body = object('AgentId', 'title', 'Instructions', { Schedule: {} });
  expect(await read({ [JOBS]: { post: write(body, object('id'), { parameters: headers }) } })).toEqual({
    changes: { 'cron_jobs.create.agent_id': 'body:AgentId', 'cron_jobs.create.instructions': 'body:Instructions' },
    questions: [
      `POST ${JOBS} requires header:X-Tenant, which the tool does not send`,
      `POST ${JOBS} has no parameter that looks like cron_jobs.create.name`,
    ],
  });
});

describe('The file of a form is', () => {
  test.each<readonly [string, Data, string | undefined]>([
    ['its only binary field, whatever its name is', { payload: binary, title: text }, 'payload'],
    ['a field of an object', { document: object({ file: binary }, 'title') }, 'document[file]'],
    ['the one with a usual name among several', { thumbnail: binary, upload: binary }, 'upload'],
    ['a question if several fields may be it', { one: binary, two: binary, kind: text }, undefined],
  ])('%s', async (_, properties, field) => {
    const schema = object(properties);
    const requestBody = { content: { 'application/json': { schema: text }, 'multipart/form-data': { schema } } };
    const { changes, questions } = await read({
      [DOCUMENTS]: { post: operation(object('document_id'), { requestBody }) },
    });
    expect(changes['documents.create.file']).toBe(field && `form:${field}`);
    expect(questions).toHaveLength(field === undefined ? 1 : 0);
  });
});
