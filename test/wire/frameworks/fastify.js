import multipart from '@fastify/multipart';
import swagger from '@fastify/swagger';
import createFastify from 'fastify';
import { uuids } from '../facts.ts';
import { Store } from './store.js';

/*
 * Fastify with @fastify/swagger: bare arrays by offset and limit, which say nothing about further pages, the error bodies of
 * Fastify, and JSON schemas, which also select what is sent.
 */

export const names = { name: 'fastify', ids: uuids, id: 'id' };

export const documentPath = '/documentation/json';

const string = { type: 'string' };
const boolean = { type: 'boolean' };
const integer = { type: 'integer' };
const object = (properties, required) => ({ type: 'object', properties, ...(required && { required }) });
const arrayOf = (items) => ({ type: 'array', items });

const SPACE = object({
  id: string,
  external_space_id: string,
  name: string,
  description: string,
  is_org_wide: boolean,
});
const AGENT = object({ id: string, space_id: string, name: string, template_id: string });
const SOURCE = object({ id: string, agent_id: string, name: string, reply_capable: boolean, routing_mode: string });
const MESSAGE = object({
  id: string,
  source_id: string,
  session_id: string,
  external_message_id: string,
  role: { type: 'string', enum: ['user', 'assistant'] },
  text: string,
  created_at: { type: 'string', format: 'date-time' },
});
const SCHEDULE = object({ type: string, data: { type: 'object', additionalProperties: true }, timezone: string });
const JOB = object({ id: string, agent_id: string, name: string, instructions: string, schedule: SCHEDULE });
const UPLOAD = object({ id: string, filename: string, size: integer });

const INSTALLED = object(
  { template_id: string, name: string, auto_create_api_chat: boolean, api_chat_routing_mode: string },
  ['template_id', 'name'],
);
const PROVISION = object(
  {
    external_space_id: string,
    space: object({ name: string, description: string, is_org_wide: boolean }),
    agents: arrayOf(INSTALLED),
  },
  ['external_space_id', 'space', 'agents'],
);
const SETUP = object({ name: string, reply_capable: boolean, routing_mode: string });
const SEND = object(
  { source_id: string, session_id: string, text: string, external_message_id: string, response_mode: string },
  ['source_id', 'session_id', 'text'],
);
const CREATE_JOB = object({ agent_id: string, name: string, instructions: string, schedule: SCHEDULE }, [
  'agent_id',
  'name',
  'instructions',
  'schedule',
]);
// A function, as the validator changes the schema.
const formSchema = () => object({ file: { isFile: true } }, ['file']);

const PAGE_QUERY = {
  offset: { type: 'integer', minimum: 0, default: 0 },
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
};
const CONVERSATION = { source_id: string, session_id: string, after_message_id: string };

function existing(value, what) {
  if (value === undefined) throw Object.assign(new Error(`${what} not found`), { statusCode: 404, code: 'NOT_FOUND' });
  return value;
}

/** @param facts returns the current data @returns a listener for the requests */
export async function createListener(facts) {
  const store = new Store(facts, names);
  const app = createFastify({ ajv: { plugins: [multipart.ajvFilePlugin] } });
  await app.register(swagger, { openapi: { openapi: '3.0.3', info: { title: 'Partner', version: '1' } } });
  await app.register(multipart, { attachFieldsToBody: true });
  await app.register(async (v1) => defineRoutes(v1, store), { prefix: '/v1' });
  app.get(documentPath, { schema: { hide: true } }, async () => app.swagger());
  await app.ready();
  return (request, response) => app.routing(request, response);
}

function defineRoutes(app, store) {
  const list = (path, item, read, query = {}, required) =>
    app.get(
      path,
      { schema: { querystring: object({ ...query, ...PAGE_QUERY }, required), response: { 200: arrayOf(item) } } },
      async (request) => {
        const { offset, limit } = request.query;
        return read(request).slice(offset, offset + limit);
      },
    );
  const create = (path, body, created, handle, status = 201) =>
    app.post(path, { schema: { body, response: { [status]: created } } }, async (request, reply) => {
      reply.code(status);
      return handle(request);
    });
  const upload = (path, kind) =>
    app.post(
      path,
      { schema: { consumes: ['multipart/form-data'], body: formSchema(), response: { 201: UPLOAD } } },
      async ({ body: { file } }, reply) => {
        reply.code(201);
        return store.upload(kind, file.filename, (await file.toBuffer()).length);
      },
    );

  list('/automation/spaces/', SPACE, () => store.spaces());
  list('/automation/spaces/:space_id/agents/', AGENT, ({ params: { space_id } }) =>
    existing(store.agents(space_id), `Space ${space_id}`),
  );
  list('/automation/partner-cron-jobs/', JOB, () => store.jobs());
  list(
    '/integrations/api-chat/history/',
    MESSAGE,
    ({ query: { source_id, session_id, after_message_id } }) =>
      existing(store.history(source_id, session_id, after_message_id), `Source ${source_id}`),
    CONVERSATION,
    ['source_id', 'session_id'],
  );
  create(
    '/automation/agent-templates/provision-space/',
    PROVISION,
    object({ space: SPACE, agents: arrayOf(AGENT) }),
    ({ body }) => store.provision(body),
  );
  create('/automation/spaces/:space_id/agents/:agent_id/api-chat/', SETUP, SOURCE, ({ params, body }) =>
    existing(store.setUpSource(params.space_id, params.agent_id, body), `Agent ${params.agent_id}`),
  );
  create(
    '/integrations/api-chat/message/',
    SEND,
    object({ ...MESSAGE.properties, created: boolean }),
    ({ body }) => existing(store.send(body), `Source ${body.source_id}`),
    202,
  );
  create('/automation/partner-cron-jobs/', CREATE_JOB, JOB, ({ body }) =>
    existing(store.createJob(body), `Agent ${body.agent_id}`),
  );
  upload('/automation/documents/', 'document');
  upload('/automation/file-attachments/', 'file_attachment');
}
