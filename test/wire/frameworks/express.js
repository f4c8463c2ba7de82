import { readFileSync } from 'node:fs';
import createExpress from 'express';
import multer from 'multer';
import { parse } from 'yaml';
import { objectIds } from '../facts.ts';
import { Store } from './store.js';

/* Express with Mongoose and mongoose-paginate, and the document in comments, as swagger-jsdoc collects it. */

export const names = {
  name: 'express',
  ids: objectIds,
  id: '_id',
  casing: 'camel',
  also: { '*.__v': 0 },
  author: ['from', 'user', 'bot'],
  fields: { 'message.text': 'content' },
};

export const documentPath = '/api-docs.json';

/**
 * @openapi
 * components:
 *   schemas:
 *     Space: { type: object, properties: { _id: { type: string }, externalSpaceId: { type: string }, name: { type: string }, description: { type: string }, isOrgWide: { type: boolean } } }
 *     Agent: { type: object, properties: { _id: { type: string }, spaceId: { type: string }, name: { type: string }, templateId: { type: string } } }
 *     Source: { type: object, properties: { _id: { type: string }, agentId: { type: string }, name: { type: string } } }
 *     Message: { type: object, properties: { _id: { type: string }, sessionId: { type: string }, from: { type: string, enum: [user, bot] }, content: { type: string }, createdAt: { type: string, format: date-time } } }
 *     Job: { type: object, properties: { _id: { type: string }, agentId: { type: string }, name: { type: string }, instructions: { type: string }, schedule: { type: object } } }
 *     File: { type: object, properties: { _id: { type: string }, filename: { type: string } } }
 *     Page: { type: object, properties: { totalDocs: { type: integer }, limit: { type: integer }, page: { type: integer }, totalPages: { type: integer }, hasNextPage: { type: boolean }, nextPage: { type: integer, nullable: true } } }
 *   parameters:
 *     page: { name: page, in: query, schema: { type: integer, default: 1 } }
 *     spaceId: { name: spaceId, in: path, required: true, schema: { type: string } }
 */
function paginate(items, { page = 1, limit = 10 }) {
  const [number, size] = [Number(page), Number(limit)];
  const totalPages = Math.ceil(items.length / size);
  const hasNextPage = number < totalPages;
  return {
    docs: items.slice((number - 1) * size, number * size),
    totalDocs: items.length,
    limit: size,
    totalPages,
    page: number,
    pagingCounter: (number - 1) * size + 1,
    hasPrevPage: number > 1,
    hasNextPage,
    prevPage: number > 1 ? number - 1 : null,
    nextPage: hasNextPage ? number + 1 : null,
  };
}

function createRouter(store) {
  const router = createExpress.Router();
  const created = (response, data) => response.status(201).json({ success: true, data });
  const upload = multer();
  /**
   * @openapi
   * /automation/spaces/:
   *   get:
   *     parameters: [{ $ref: '#/components/parameters/page' }]
   *     responses: { 200: { description: OK, content: { application/json: { schema: { allOf: [{ $ref: '#/components/schemas/Page' }, { type: object, properties: { docs: { type: array, items: { $ref: '#/components/schemas/Space' } } } }] } } } } }
   */
  router.get('/automation/spaces', (request, response) => response.json(paginate(store.spaces(), request.query)));
  /**
   * @openapi
   * /automation/spaces/{spaceId}/agents/:
   *   get:
   *     parameters: [{ $ref: '#/components/parameters/spaceId' }, { $ref: '#/components/parameters/page' }]
   *     responses: { 200: { description: OK, content: { application/json: { schema: { allOf: [{ $ref: '#/components/schemas/Page' }, { type: object, properties: { docs: { type: array, items: { $ref: '#/components/schemas/Agent' } } } }] } } } } }
   */
  router.get('/automation/spaces/:spaceId/agents', ({ params: { spaceId }, query }, response) =>
    response.json(paginate(store.agents(spaceId), query)),
  );
  /**
   * @openapi
   * /automation/agent-templates/provision-space/:
   *   post:
   *     requestBody: { content: { application/json: { schema: { type: object } } } }
   *     responses: { 201: { description: Created, content: { application/json: { schema: { type: object, properties: { success: { type: boolean }, data: { type: object, properties: { space: { $ref: '#/components/schemas/Space' }, agents: { type: array, items: { $ref: '#/components/schemas/Agent' } } } } } } } } } }
   */
  router.post('/automation/agent-templates/provision-space', ({ body }, response) =>
    created(response, store.provision(body)),
  );
  /**
   * @openapi
   * /automation/spaces/{spaceId}/agents/{agentId}/api-chat/:
   *   post:
   *     parameters: [{ $ref: '#/components/parameters/spaceId' }, { name: agentId, in: path, required: true, schema: { type: string } }]
   *     requestBody: { content: { application/json: { schema: { type: object, properties: { name: { type: string }, reply_capable: { type: boolean }, routing_mode: { type: string } } } } } }
   *     responses: { 201: { description: Created, content: { application/json: { schema: { type: object, properties: { success: { type: boolean }, data: { $ref: '#/components/schemas/Source' } } } } } } }
   */
  router.post('/automation/spaces/:spaceId/agents/:agentId/api-chat', ({ params, body }, response) =>
    created(response, store.setUpSource(params.spaceId, params.agentId, body)),
  );
  /**
   * @openapi
   * /integrations/api-chat/message/:
   *   post:
   *     requestBody: { content: { application/json: { schema: { type: object, required: [source_id, session_id, text], properties: { source_id: { type: string }, session_id: { type: string }, text: { type: string }, external_message_id: { type: string }, response_mode: { type: string } } } } } }
   *     responses: { 201: { description: Created, content: { application/json: { schema: { type: object, properties: { success: { type: boolean }, data: { $ref: '#/components/schemas/Message' } } } } } } }
   */
  router.post('/integrations/api-chat/message', ({ body }, response) => created(response, store.send(body)));
  /**
   * @openapi
   * /integrations/api-chat/history/:
   *   get:
   *     parameters:
   *       - { name: sourceId, in: query, required: true, schema: { type: string } }
   *       - { name: sessionId, in: query, required: true, schema: { type: string } }
   *       - { name: after, in: query, description: only messages after the one with this id, schema: { type: string } }
   *       - { $ref: '#/components/parameters/page' }
   *     responses: { 200: { description: OK, content: { application/json: { schema: { allOf: [{ $ref: '#/components/schemas/Page' }, { type: object, properties: { docs: { type: array, items: { $ref: '#/components/schemas/Message' } } } }] } } } } }
   */
  router.get('/integrations/api-chat/history', ({ query }, response) => {
    const { sourceId, sessionId, after } = query;
    return response.json(paginate(store.history(sourceId, sessionId, after).toReversed(), query));
  });
  /**
   * @openapi
   * /automation/partner-cron-jobs/:
   *   get:
   *     parameters: [{ $ref: '#/components/parameters/page' }]
   *     responses: { 200: { description: OK, content: { application/json: { schema: { allOf: [{ $ref: '#/components/schemas/Page' }, { type: object, properties: { docs: { type: array, items: { $ref: '#/components/schemas/Job' } } } }] } } } } }
   *   post:
   *     requestBody: { content: { application/json: { schema: { type: object, properties: { agent_id: { type: string }, name: { type: string }, instructions: { type: string }, schedule: { type: object } } } } } }
   *     responses: { 201: { description: Created, content: { application/json: { schema: { type: object, properties: { success: { type: boolean }, data: { $ref: '#/components/schemas/Job' } } } } } } }
   */
  router
    .route('/automation/partner-cron-jobs')
    .get((request, response) => response.json(paginate(store.jobs(), request.query)))
    .post(({ body }, response) => created(response, store.createJob(body)));
  /**
   * @openapi
   * /automation/documents/:
   *   post:
   *     requestBody: { content: { multipart/form-data: { schema: { type: object, properties: { document: { type: string, format: binary } } } } } }
   *     responses: { 201: { description: Created, content: { application/json: { schema: { type: object, properties: { success: { type: boolean }, data: { $ref: '#/components/schemas/File' } } } } } } }
   */
  router.post('/automation/documents', upload.single('document'), ({ file }, response) =>
    created(response, store.upload('document', file.originalname, file.size)),
  );
  /**
   * @openapi
   * /automation/file-attachments/:
   *   post:
   *     requestBody: { content: { multipart/form-data: { schema: { type: object, properties: { attachment: { type: string, format: binary } } } } } }
   *     responses: { 201: { description: Created, content: { application/json: { schema: { type: object, properties: { success: { type: boolean }, data: { $ref: '#/components/schemas/File' } } } } } } }
   */
  router.post('/automation/file-attachments', upload.single('attachment'), ({ file }, response) =>
    created(response, store.upload('file_attachment', file.originalname, file.size)),
  );
  return router;
}

/** Collects the document from the comments of this file. */
function collectDocument() {
  const comments = readFileSync(new URL(import.meta.url), 'utf8').matchAll(/\/\*\*\n *\* @openapi\n([\s\S]*?)\*\//g);
  const parts = [...comments].map(([, text]) => parse(text.replace(/^ *\* ?/gm, '')));
  const { components } = parts.find((part) => part.components);
  const paths = Object.assign({}, ...parts.filter((part) => !part.components));
  return {
    openapi: '3.0.0',
    info: { title: 'Partner', version: '1.0.0' },
    servers: [{ url: '/v1' }],
    components,
    paths,
  };
}

/** @param facts returns the current data @returns a listener for the requests */
export async function createListener(facts) {
  const app = createExpress();
  const document = collectDocument();
  app.use(createExpress.json());
  app.get(documentPath, (_, response) => response.json(document));
  const missing = (message) => Object.assign(new Error(message), { status: 404 });
  app.use('/v1', createRouter(new Store(facts, names, missing)));
  app.use((error, _request, response, _next) => {
    const status = error.status ?? (error.name === 'MulterError' ? 400 : 500);
    response.status(status).json({ success: false, message: error.message });
  });
  return app;
}
