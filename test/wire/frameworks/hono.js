import { getRequestListener } from '@hono/node-server';
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi';
import { HTTPException } from 'hono/http-exception';
import { prefixed } from '../facts.ts';
import { Store } from './store.js';

/* Hono with @hono/zod-openapi: cursors, errors of zod, and paths without the trailing slash. */

export const names = { name: 'hono', ids: prefixed, id: 'id', time: (ms) => ms };

/** It is found under the address of the service. */
export const documentPath = '/v1';

const Space = z
  .object({
    id: z.string(),
    external_space_id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    is_org_wide: z.boolean(),
  })
  .openapi('Space');
const Agent = z
  .object({ id: z.string(), space_id: z.string(), name: z.string(), template_id: z.string() })
  .openapi('Agent');
const Source = z
  .object({
    id: z.string(),
    agent_id: z.string(),
    name: z.string(),
    routing_mode: z.string(),
    reply_capable: z.boolean(),
  })
  .openapi('Source');
const Message = z
  .object({
    id: z.string(),
    session_id: z.string(),
    source_id: z.string(),
    role: z.enum(['user', 'assistant']),
    text: z.string(),
    created_at: z.number().int().openapi({ description: 'Unix time in milliseconds' }),
  })
  .openapi('Message');
const Schedule = z.object({ type: z.literal('cron'), data: z.record(z.string(), z.string()), timezone: z.string() });
const Job = z
  .object({ id: z.string(), agent_id: z.string(), name: z.string(), instructions: z.string(), schedule: Schedule })
  .openapi('CronJob');
const Upload = z.object({ id: z.string(), filename: z.string(), size: z.number().int() }).openapi('Upload');
const Failure = z.object({ error: z.object({ code: z.string(), message: z.string() }) }).openapi('Error');

const Provision = z.object({
  external_space_id: z.string(),
  space: z.object({ name: z.string(), description: z.string().optional(), is_org_wide: z.boolean().optional() }),
  agents: z.array(
    z.object({
      template_id: z.string(),
      name: z.string(),
      auto_create_api_chat: z.boolean().optional(),
      api_chat_routing_mode: z.enum(['agent_inbox', 'session_workflow']).optional(),
    }),
  ),
});
const Setup = z.object({
  name: z.string().optional(),
  reply_capable: z.boolean().optional(),
  routing_mode: z.enum(['agent_inbox', 'session_workflow']).optional(),
});
const Send = z.object({
  source_id: z.string(),
  session_id: z.string(),
  text: z.string(),
  external_message_id: z.string(),
  response_mode: z.string().optional(),
});
const CreateJob = z.object({ agent_id: z.string(), name: z.string(), instructions: z.string(), schedule: Schedule });
const Form = z.object({ file: z.instanceof(File).openapi({ type: 'string', format: 'binary' }) });

const Cursor = z.object({ cursor: z.string().optional(), limit: z.coerce.number().int().max(100).default(10) });
const Conversation = Cursor.extend({
  source_id: z.string(),
  session_id: z.string(),
  after_message_id: z.string().optional(),
});
const pageOf = (item) => z.object({ data: z.array(item), next_cursor: z.string().nullable(), has_more: z.boolean() });
const withIds = (...ids) => z.object(Object.fromEntries(ids.map((id) => [id, z.string()])));

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

function existing(value, what) {
  if (value === undefined) throw new HTTPException(404, { message: `${what} does not exist.` });
  return value;
}

/** @param facts returns the current data @returns a listener for the requests */
export async function createListener(facts) {
  const store = new Store(facts, names);
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
  list(get('/automation/spaces/{space_id}/agents', Cursor, Agent, withIds('space_id')), (context) => {
    const id = context.req.param('space_id');
    return existing(store.agents(id), `Space ${id}`);
  });
  list(get('/automation/partner-cron-jobs', Cursor, Job), () => store.jobs());
  list(get('/integrations/api-chat/history', Conversation, Message), (context) => {
    const { source_id, session_id, after_message_id } = context.req.valid('query');
    return existing(store.history(source_id, session_id, after_message_id), `Source ${source_id}`);
  });
  const Provisioned = z.object({ space: Space, agents: z.array(Agent) });
  create(post('/automation/agent-templates/provision-space', Provision, Provisioned), (_, body) =>
    store.provision(body),
  );
  const agentIds = withIds('space_id', 'agent_id');
  create(
    post('/automation/spaces/{space_id}/agents/{agent_id}/api-chat', Setup, Source, { params: agentIds }),
    (context, body) => {
      const { space_id, agent_id } = context.req.param();
      return existing(store.setUpSource(space_id, agent_id, body), `Agent ${agent_id}`);
    },
  );
  create(post('/integrations/api-chat/message', Send, Message.extend({ created: z.boolean() })), (_, body) =>
    existing(store.send(body), `Source ${body.source_id}`),
  );
  create(post('/automation/partner-cron-jobs', CreateJob, Job), (_, body) =>
    existing(store.createJob(body), `Agent ${body.agent_id}`),
  );
  upload('/automation/documents', 'document');
  upload('/automation/file-attachments', 'file_attachment');
  app.doc('/openapi.json', { openapi: '3.0.0', info: { title: 'Partner', version: '1.0.0' } });
  return getRequestListener(app.fetch);
}
