import errors from '@feathersjs/errors';
import express, { json, notFound, rest } from '@feathersjs/express';
import { feathers } from '@feathersjs/feathers';
import swagger from 'feathers-swagger';
import multer from 'multer';
import { numbers } from '../facts.ts';
import { Store } from './store.js';

/* Feathers with feathers-swagger: $skip and $limit, numeric ids, and one service for each path. */

export const names = {
  name: 'feathers',
  ids: numbers,
  id: 'id',
  casing: 'camel',
  author: ['isBot', false, true],
};

export const documentPath = '/swagger.json';

const string = { type: 'string' };
const boolean = { type: 'boolean' };
const integer = { type: 'integer' };
const object = (properties) => ({ type: 'object', properties });

const strings = (names) => Object.fromEntries(names.split(' ').map((name) => [name, string]));

const SPACE = object({ id: integer, ...strings('externalSpaceId name description'), isOrgWide: boolean });
const AGENT = object({ id: integer, spaceId: integer, ...strings('name templateId') });
const SOURCE = object({ id: integer, agentId: integer, ...strings('name routingMode'), replyCapable: boolean });
const MESSAGE = object({
  id: integer,
  sourceId: integer,
  ...strings('sessionId text'),
  isBot: boolean,
  createdAt: { type: 'string', format: 'date-time' },
});
const JOB = object({ id: integer, agentId: integer, ...strings('name instructions'), schedule: object({}) });
const UPLOAD = object({ id: integer, filename: string, size: integer });

const AGENT_FIELDS = object({ ...strings('template_id name api_chat_routing_mode'), auto_create_api_chat: boolean });
const PROVISION = object({
  external_space_id: string,
  space: object({ ...strings('name description'), is_org_wide: boolean }),
  agents: { type: 'array', items: AGENT_FIELDS },
});
const SETUP = object({ ...strings('name routing_mode'), reply_capable: boolean });
const SEND = object(strings('source_id session_id text external_message_id response_mode'));
const CREATE_JOB = object({ ...strings('agent_id name instructions'), schedule: object({}) });
const FORM = object({ uri: { type: 'string', format: 'binary' } });

function paginate(items, { $skip = 0, $limit = 10 }) {
  const [skip, limit] = [Number($skip), Number($limit)];
  return { total: items.length, limit, skip, data: items.slice(skip, skip + limit) };
}

/** The part of the document about one service, in the terms of feathers-swagger. */
function docsOf({ item, created = item, input, form, query = [], path = [] }) {
  const pathParameters = path.map((name) => ({ name, in: 'path', required: true, schema: string }));
  const queries = query.map(([name, required]) => ({ name, in: 'query', required, schema: string }));
  const paging = ['$limit', '$skip'].map((name) => ({ name, in: 'query', schema: integer }));
  const answer = (schema) => ({ description: 'success', content: { 'application/json': { schema } } });
  const page = object({ total: integer, limit: integer, skip: integer, data: { type: 'array', items: item } });
  const [type, body] = form ? ['multipart/form-data', form] : ['application/json', input];
  return {
    operations: {
      find: { parameters: [...pathParameters, ...queries, ...paging], 'responses.200': answer(page) },
      create: {
        parameters: pathParameters,
        requestBody: { required: true, content: { [type]: { schema: body } } },
        'responses.201': answer(created),
      },
    },
  };
}

/** Puts the file of a form where a service finds it. */
const takeFile = [
  multer().single('uri'),
  (request, _response, next) => {
    request.feathers.file = request.file;
    next();
  },
];

/** @param facts returns the current data @returns a listener for the requests */
export async function createListener(facts) {
  const store = new Store(facts, names, (message) => new errors.NotFound(message));
  const app = express(feathers());
  app.use(json());
  app.configure(rest());
  app.configure(
    swagger({
      openApiVersion: 3,
      docsJsonPath: documentPath,
      specs: { info: { title: 'Partner', version: '1.0.0', description: 'A partner API' } },
    }),
  );
  const serve = (path, methods, docs, before = []) => {
    const service = Object.assign(methods, { docs: docsOf(docs) });
    app.use(`v1/${path}`, ...before, service, { methods: Object.keys(methods).filter((name) => name !== 'docs') });
  };

  serve('automation/spaces', { find: async ({ query }) => paginate(store.spaces(), query) }, { item: SPACE });
  serve(
    'automation/spaces/:spaceId/agents',
    { find: async ({ query, route: { spaceId } }) => paginate(store.agents(spaceId), query) },
    { item: AGENT, path: ['spaceId'] },
  );
  serve(
    'automation/agent-templates/provision-space',
    { create: async (data) => store.provision(data) },
    { input: PROVISION, created: object({ space: SPACE, agents: { type: 'array', items: AGENT } }) },
  );
  serve(
    'automation/spaces/:spaceId/agents/:agentId/api-chat',
    { create: async (data, { route: { spaceId, agentId } }) => store.setUpSource(spaceId, agentId, data) },
    { input: SETUP, created: SOURCE, path: ['spaceId', 'agentId'] },
  );
  serve(
    'integrations/api-chat/message',
    { create: async (data) => store.send(data) },
    { input: SEND, created: MESSAGE },
  );
  serve(
    'integrations/api-chat/history',
    {
      find: async ({ query: { sourceId, sessionId, afterMessageId, ...query } }) =>
        paginate(store.history(sourceId, sessionId, afterMessageId), query),
    },
    {
      item: MESSAGE,
      query: [
        ['sourceId', true],
        ['sessionId', true],
        ['afterMessageId', false],
      ],
    },
  );
  serve(
    'automation/partner-cron-jobs',
    {
      find: async ({ query }) => paginate(store.jobs(), query),
      create: async (data) => store.createJob(data),
    },
    { item: JOB, input: CREATE_JOB },
  );
  for (const [path, kind] of [
    ['documents', 'document'],
    ['file-attachments', 'file_attachment'],
  ]) {
    const create = async (_, { file }) => store.upload(kind, file.originalname, file.size);
    serve(`automation/${path}`, { create }, { created: UPLOAD, form: FORM }, takeFile);
  }
  app.use(notFound());
  app.use(express.errorHandler({ logger: false }));
  await app.setup();
  return app;
}
