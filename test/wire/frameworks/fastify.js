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

const strings = (names) => Object.fromEntries(names.split(' ').map((name) => [name, string]));

const SPACE = object({ ...strings('id external_space_id name description'), is_org_wide: boolean });
const AGENT = object(strings('id space_id name template_id'));
const SOURCE = object({ ...strings('id agent_id name routing_mode'), reply_capable: boolean });
const MESSAGE = object({
  ...strings('id source_id session_id external_message_id text'),
  role: { type: 'string', enum: ['user', 'assistant'] },
  created_at: { type: 'string', format: 'date-time' },
});
const SCHEDULE = object({ ...strings('type timezone'), data: { type: 'object', additionalProperties: true } });
const JOB = object({ ...strings('id agent_id name instructions'), schedule: SCHEDULE });
const UPLOAD = object({ ...strings('id filename'), size: integer });

const INSTALLED = object({ ...strings('template_id name api_chat_routing_mode'), auto_create_api_chat: boolean }, [
  'template_id',
  'name',
]);
const SPACE_FIELDS = object({ ...strings('name description'), is_org_wide: boolean });
const PROVISION = object({ external_space_id: string, space: SPACE_FIELDS, agents: arrayOf(INSTALLED) }, [
  'external_space_id',
  'space',
  'agents',
]);
const SETUP = object({ ...strings('name routing_mode'), reply_capable: boolean });
const SEND = object(strings('source_id session_id text external_message_id response_mode'), [
  'source_id',
  'session_id',
  'text',
]);
const CREATE_JOB = object({ ...strings('agent_id name instructions'), schedule: SCHEDULE }, [
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
const CONVERSATION = strings('source_id session_id after_message_id');

/** @param facts returns the current data @returns a listener for the requests */
export async function createListener(facts) {
  const missing = (message) => Object.assign(new Error(message), { statusCode: 404, code: 'NOT_FOUND' });
  const store = new Store(facts, names, missing);
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
  list('/automation/spaces/:space_id/agents/', AGENT, ({ params }) => store.agents(params.space_id));
  list('/automation/partner-cron-jobs/', JOB, () => store.jobs());
  list(
    '/integrations/api-chat/history/',
    MESSAGE,
    ({ query }) => store.history(query.source_id, query.session_id, query.after_message_id),
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
    store.setUpSource(params.space_id, params.agent_id, body),
  );
  create(
    '/integrations/api-chat/message/',
    SEND,
    object({ ...MESSAGE.properties, created: boolean }),
    ({ body }) => store.send(body),
    202,
  );
  create('/automation/partner-cron-jobs/', CREATE_JOB, JOB, ({ body }) => store.createJob(body));
  upload('/automation/documents/', 'document');
  upload('/automation/file-attachments/', 'file_attachment');
}
