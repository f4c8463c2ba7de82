import { getRequestListener } from '@hono/node-server';
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi';
import { HTTPException } from 'hono/http-exception';
import { prefixed } from '../facts.ts';
import { Store } from './store.js';

/* Hono with @hono/zod-openapi: cursors, errors of zod, and paths without the trailing slash. */

export const names = { name: 'hono', ids: prefixed, id: 'id', time: (ms) => ms };

/** It is found under the address of the service. */
export const documentPath = '/v1';

const strings = (names) => Object.fromEntries(names.split(' ').map((name) => [name, z.string()]));
const routing = z.enum(['agent_inbox', 'session_workflow']).optional();
const flag = z.boolean().optional();

const Space = z
  .object({ ...strings('id external_space_id name'), description: z.string().nullable(), is_org_wide: z.boolean() })
  .openapi('Space');
const Agent = z.object(strings('id space_id name template_id')).openapi('Agent');
const Source = z.object({ ...strings('id agent_id name routing_mode'), reply_capable: z.boolean() }).openapi('Source');
const Message = z
  .object({
    ...strings('id session_id source_id text'),
    role: z.enum(['user', 'assistant']),
    created_at: z.number().int().openapi({ description: 'Unix time in milliseconds' }),
  })
  .openapi('Message');
const Schedule = z.object({ type: z.literal('cron'), data: z.record(z.string(), z.string()), timezone: z.string() });
const CreateJob = z.object({ ...strings('agent_id name instructions'), schedule: Schedule });
const Job = CreateJob.extend({ id: z.string() }).openapi('CronJob');
const Upload = z.object({ ...strings('id filename'), size: z.number().int() }).openapi('Upload');
const Failure = z.object({ error: z.object(strings('code message')) }).openapi('Error');

const Installed = z.object({
  ...strings('template_id name'),
  auto_create_api_chat: flag,
  api_chat_routing_mode: routing,
});
const Provision = z.object({
  external_space_id: z.string(),
  space: z.object({ name: z.string(), description: z.string().optional(), is_org_wide: flag }),
  agents: z.array(Installed),
});
const Setup = z.object({ name: z.string().optional(), reply_capable: flag, routing_mode: routing });
const Send = z.object({
  ...strings('source_id session_id text external_message_id'),
  response_mode: z.string().optional(),
});
const Form = z.object({ file: z.instanceof(File).openapi({ type: 'string', format: 'binary' }) });

const Cursor = z.object({ cursor: z.string().optional(), limit: z.coerce.number().int().max(100).default(10) });
const Conversation = Cursor.extend({ ...strings('source_id session_id'), after_message_id: z.string().optional() });
const pageOf = (item) => z.object({ data: z.array(item), next_cursor: z.string().nullable(), has_more: z.boolean() });

const json = (schema, description = 'Done') => ({ description, content: { 'application/json': { schema } } });
const get = (path, query, item, params) =>
  createRoute({
    method: 'get',
    path,
    request: { query, ...(params && { params }) },
    responses: { 200: json(pageOf(item)), 404: json(Failure, 'Not found') },
  });
const post = (path, body, created, { params, type = 'application/json' } = {}) =>
  createRoute({
    method: 'post',
    path,
    request: { body: { required: true, content: { [type]: { schema: body } } }, ...(params && { params }) },
    responses: { 201: json(created), 404: json(Failure, 'Not found') },
  });

function page(items, { cursor, limit }) {
  const start = cursor === undefined ? 0 : Number(atob(cursor));
  const end = start + limit;
  const has_more = end < items.length;
  return { data: items.slice(start, end), next_cursor: has_more ? btoa(String(end)) : null, has_more };
}

/** @param facts returns the current data @returns a listener for the requests */
export async function createListener(facts) {
  const store = new Store(facts, names, (message) => new HTTPException(404, { message }));
  const app = new OpenAPIHono({ strict: false }).basePath('/v1');
  app.onError((error, context) => {
    const status = error instanceof HTTPException ? error.status : 500;
    return context.json({ error: { code: status === 404 ? 'not_found' : 'internal', message: error.message } }, status);
  });
  const list = (route, read) =>
    app.openapi(route, (context) => context.json(page(read(context), context.req.valid('query'))));
  const create = (route, handle) =>
    app.openapi(route, (context) => context.json(handle(context, context.req.valid('json')), 201));
  const upload = (path, kind) =>
    app.openapi(post(path, Form, Upload, { type: 'multipart/form-data' }), (context) => {
      const { file } = context.req.valid('form');
      return context.json(store.upload(kind, file.name, file.size), 201);
    });

  list(get('/automation/spaces', Cursor, Space), () => store.spaces());
  list(get('/automation/spaces/{space_id}/agents', Cursor, Agent, z.object(strings('space_id'))), (context) =>
    store.agents(context.req.param('space_id')),
  );
  list(get('/automation/partner-cron-jobs', Cursor, Job), () => store.jobs());
  list(get('/integrations/api-chat/history', Conversation, Message), (context) => {
    const { source_id, session_id, after_message_id } = context.req.valid('query');
    return store.history(source_id, session_id, after_message_id);
  });
  const Provisioned = z.object({ space: Space, agents: z.array(Agent) });
  create(post('/automation/agent-templates/provision-space', Provision, Provisioned), (_, body) =>
    store.provision(body),
  );
  const agentIds = z.object(strings('space_id agent_id'));
  create(
    post('/automation/spaces/{space_id}/agents/{agent_id}/api-chat', Setup, Source, { params: agentIds }),
    (context, body) => {
      const { space_id, agent_id } = context.req.param();
      return store.setUpSource(space_id, agent_id, body);
    },
  );
  create(post('/integrations/api-chat/message', Send, Message.extend({ created: z.boolean() })), (_, body) =>
    store.send(body),
  );
  create(post('/automation/partner-cron-jobs', CreateJob, Job), (_, body) => store.createJob(body));
  upload('/automation/documents', 'document');
  upload('/automation/file-attachments', 'file_attachment');
  app.doc('/openapi.json', { openapi: '3.0.0', info: { title: 'Partner', version: '1.0.0' } });
  return getRequestListener(app.fetch);
}
