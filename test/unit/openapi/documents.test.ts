import { describe, expect, test } from 'vitest';
import { LEAVES } from '../../../src/contract/leaves.ts';
import { proposeFromOpenApi } from '../../../src/openapi/propose.ts';
import {
  type Data,
  flag,
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

/** The leaves that a document changes, and the questions that it leaves open. */
async function read(document: Data) {
  const { proposals, questions } = await proposeFromOpenApi(document, '/v1');
  const changed = proposals.filter(({ leaf, value }) => value !== LEAVES[leaf].value);
  return {
    changes: Object.fromEntries(changed.map(({ leaf, value }) => [leaf, value])),
    questions: questions.map(({ leaf, message }) => (leaf ? `${leaf}: ${message}` : message)),
  };
}

const SPACES = '/automation/spaces/';
const PROVISION = '/automation/agent-templates/provision-space/';
const AGENTS = '/automation/spaces/{space_id}/agents/';
const SETUP = '/automation/spaces/{space_id}/agents/{agent_id}/api-chat/';
const MESSAGE = '/integrations/api-chat/message/';
const HISTORY = '/integrations/api-chat/history/';
const DOCUMENTS = '/automation/documents/';
const FILES = '/automation/file-attachments/';
const JOBS = '/automation/partner-cron-jobs/';

/** The bodies of the specification, with names as `name` writes them. */
function requests(name: (snake: string) => string = (snake) => snake) {
  const named = (properties: Data): Data =>
    object(Object.fromEntries(Object.entries(properties).map(([key, schema]) => [name(key), schema])));
  return {
    provision: named({
      external_space_id: text,
      space: named({ name: text, description: text, is_org_wide: flag }),
      agents: list(named({ template_id: text, name: text, auto_create_api_chat: flag, api_chat_routing_mode: text })),
    }),
    setup: named({ name: text, reply_capable: flag, routing_mode: text }),
    message: named({ source_id: text, session_id: text, text, external_message_id: text, response_mode: text }),
    job: named({
      agent_id: text,
      name: text,
      instructions: text,
      schedule: named({ type: text, data: named({ minute: text, hour: text, day_of_week: text }), timezone: text }),
    }),
  };
}

describe('the OpenAPI document', () => {
  test('of the specification itself only confirms assumed values', async () => {
    const { provision, setup, message, job } = requests();
    const page = (schema: Data): Data =>
      object({ count: { type: 'integer' }, next: { ...text, format: 'uri' } }, { results: list(schema) });
    const document = openApi({
      [SPACES]: {
        get: operation(page(object('space_id', 'external_space_id', 'name', 'description', { is_org_wide: flag }))),
      },
      [PROVISION]: { post: write(provision, object('space_id', { agents: list(object('agent_id', 'name')) })) },
      [AGENTS]: {
        get: operation(page(object('agent_id', 'name', 'template_id', { integrations: object('source_id') }))),
      },
      [SETUP]: { post: write(setup, object('source_id', 'name', { reply_capable: flag }, 'routing_mode')) },
      [MESSAGE]: { post: write(message, object('message_id', { created: flag })) },
      [HISTORY]: {
        get: operation(page(object('message_id', 'role', 'text', 'created_at')), {
          parameters: query('source_id', 'session_id', 'after_message_id'),
        }),
      },
      [DOCUMENTS]: { post: upload('file', object('document_id')) },
      [FILES]: { post: upload('file', object('file_attachment_id')) },
      [JOBS]: {
        get: operation(
          page(object('cron_job_id', 'agent_id', 'name', 'instructions', { schedule: object('timezone') })),
        ),
        post: write(job, object('cron_job_id')),
      },
    });
    expect(await read(document)).toEqual({
      changes: {
        'spaces.list.items': 'results',
        'spaces.list.next': 'link:next',
        'agents.list.items': 'results',
        'agents.list.next': 'link:next',
        'messages.history.items': 'results',
        'messages.history.next': 'link:next',
        'cron_jobs.list.items': 'results',
        'cron_jobs.list.next': 'link:next',
      },
      questions: [],
    });
  });

  test('describes what a write creates by its 201, and not by the operation of its 202', async () => {
    const of = (schema: Data) => ({ description: 'done', content: { 'application/json': { schema } } });
    const task = object('task_ref', { kind: { ...text, enum: ['operation'] } });
    const responses = { '201': of(object('job_ref', 'name')), '202': of(task) };
    const document = openApi({ [JOBS]: { post: write(requests().job, {}, { responses }) } });
    expect((await read(document)).changes).toEqual({ 'cron_job.id': `job_ref, ${LEAVES['cron_job.id'].value}` });
  });

  test('is read as of a success where a status may also be that of a failure', async () => {
    const status = { ...text, enum: ['error', 'active'] };
    const spaces = list(object('space_ref', 'external_space_id', 'name'));
    const document = openApi({
      [SPACES]: { get: operation(object({ status }, { rows: spaces }, 'message')) },
      [DOCUMENTS]: { post: upload('file', object({ status }, 'message', { document: object('document_ref') })) },
    });
    expect((await read(document)).changes).toMatchObject({
      'spaces.list.items': 'rows',
      'space.id': `space_ref, ${LEAVES['space.id'].value}`,
      'document.id': `document.document_ref, ${LEAVES['document.id'].value}`,
    });
  });

  test('of FastAPI is read: references, nullable unions, plain lists, skip and limit, no trailing slashes', async () => {
    const { provision, setup, message, job } = requests();
    const nullable = { anyOf: [text, { type: 'null' }] };
    const paging = query({ skip: { type: 'integer', default: 0 } }, { limit: { type: 'integer', default: 100 } });
    const document = openApi(
      {
        '/automation/spaces': {
          get: operation(list(ref('SpaceOut')), {
            operationId: 'list_spaces_automation_spaces_get',
            parameters: paging,
          }),
        },
        '/automation/agent-templates/provision-space': { post: write(ref('ProvisionIn'), ref('ProvisionOut')) },
        '/automation/spaces/{space_id}/agents': { get: operation(list(ref('AgentOut'))) },
        '/automation/spaces/{space_id}/agents/{agent_id}/api-chat': { post: write(setup, object('id')) },
        '/integrations/api-chat/message': { post: write(message, object('id', { created: flag })) },
        '/integrations/api-chat/history': {
          get: operation(list(object('id', 'author', 'content', 'created_at')), {
            parameters: query('source_id', 'session_id', 'after'),
          }),
        },
        '/automation/documents': { post: upload('upload', object('id')) },
        '/automation/file-attachments': { post: upload('file', object('id')) },
        '/automation/partner-cron-jobs': {
          get: operation(list(ref('Job')), { parameters: paging }),
          post: write(job, ref('Job')),
        },
      },
      {
        SpaceOut: { ...object('id', { external_space_id: nullable }, 'name'), required: ['id'] },
        AgentOut: object('id', 'name', { template_id: nullable }),
        ProvisionIn: provision,
        ProvisionOut: object({ space: ref('SpaceOut'), agents: list(ref('AgentOut')) }),
        Job: object('id', 'agent_id', 'name', 'instructions', { schedule: object('type') }),
      },
    );
    const { changes, questions } = await read(document);
    expect(changes).toMatchObject({
      'spaces.list': 'GET /automation/spaces',
      'spaces.list.items': '$',
      'spaces.list.next': 'offset:skip',
      'agents.list': 'GET /automation/spaces/{space_id}/agents',
      'messages.history.after_message_id': 'query:after',
      'documents.create.file': 'form:upload',
      'cron_jobs.create': 'POST /automation/partner-cron-jobs',
    });
    expect(changes).not.toHaveProperty(['spaces.list.id']);
    expect(questions).toEqual([]);
  });

  test('of Django REST framework is read: named pages, trailing slashes, primary keys in nested routes', async () => {
    const page = (name: string): Data =>
      object(
        { count: { type: 'integer' } },
        { next: { ...text, nullable: true, format: 'uri', example: 'http://api.example.org/accounts/?page=4' } },
        { results: list(ref(name)) },
      );
    const document = openApi(
      {
        '/automation/spaces/': {
          get: operation(ref('PaginatedSpaceList'), {
            operationId: 'automation_spaces_list',
            parameters: query({ page: { type: 'integer' } }),
            tags: ['automation'],
          }),
        },
        '/automation/spaces/{space_pk}/agents/': {
          get: operation(ref('PaginatedAgentList'), { operationId: 'automation_spaces_agents_list' }),
        },
        '/automation/spaces/{space_pk}/agents/{id}/api-chat/': { post: write(object('name'), object('uuid', 'name')) },
      },
      {
        PaginatedSpaceList: page('Space'),
        PaginatedAgentList: page('Agent'),
        Space: object('uuid', 'external_id', 'name'),
        Agent: object('uuid', 'name', 'template_key'),
      },
    );
    const { changes } = await read(document);
    expect(changes).toEqual({
      'spaces.list.items': 'results',
      'spaces.list.next': 'link:next',
      'agents.list.items': 'results',
      'agents.list.next': 'link:next',
    });
  });

  test('of Spring is read: camelCase, pages from zero, allOf with a base class, any media type', async () => {
    const document = openApi(
      {
        '/automation/spaces': {
          get: {
            operationId: 'getSpaces',
            tags: ['space-controller'],
            parameters: query({ page: { type: 'integer', default: 0, minimum: 0 } }, { size: { type: 'integer' } }),
            responses: { '200': { content: { '*/*': { schema: ref('PageSpaceDto') } } } },
          },
        },
        '/integrations/api-chat/message': {
          post: write(ref('SendMessageRequest'), object('messageId', { created: flag })),
        },
      },
      {
        PageSpaceDto: object({
          totalPages: { type: 'integer' },
          content: list(ref('SpaceDto')),
          last: flag,
          sort: ref('Sort'),
          number: { type: 'integer' },
        }),
        Sort: object({ sorted: flag }),
        Entity: object('id', 'createdAt'),
        SpaceDto: { allOf: [ref('Entity'), object('externalSpaceId', 'displayName')] },
        SendMessageRequest: object('sourceId', 'sessionId', 'text', 'externalMessageId', 'responseMode'),
      },
    );
    expect((await read(document)).changes).toEqual({
      'spaces.list': 'GET /automation/spaces',
      'spaces.list.items': 'content',
      'spaces.list.next': 'page:page:0',
      'messages.send': 'POST /integrations/api-chat/message',
      'messages.send.source_id': 'body:sourceId',
      'messages.send.session_id': 'body:sessionId',
      'messages.send.external_message_id': 'body:externalMessageId',
      'messages.send.response_mode': 'body:responseMode',
    });
  });

  test('of .NET with NSwag is read: versions in the path, PascalCase, closed schemas without optional parameters', async () => {
    const document = openApi(
      {
        '/api/v{version}/automation/spaces/{SpaceId}/agents/{AgentId}/api-chat': {
          post: write({ ...object('Name'), additionalProperties: false }, object('SourceId')),
        },
        '/api/v{version}/automation/documents': { post: upload('File', object('DocumentId')) },
      },
      {},
      { servers: [{ url: '/' }] },
    );
    expect((await read(document)).changes).toEqual({
      'sources.setup': 'POST /automation/spaces/{space_id}/agents/{agent_id}/api-chat',
      'sources.setup.name': 'body:Name',
      'sources.setup.reply_capable': 'none',
      'sources.setup.routing_mode': 'none',
      'documents.create': 'POST /automation/documents',
      'documents.create.file': 'form:File',
    });
  });

  test('in JSON:API is read: attributes, links', async () => {
    const space = object('id', 'type', { attributes: object('name', 'client-reference') });
    const page = object({ data: list(space) }, { links: object('self', 'next') });
    const content = { 'application/vnd.api+json': { schema: page } };
    const document = openApi({ [SPACES]: { get: { responses: { '200': { content } } } } });
    expect((await read(document)).changes).toEqual({
      'spaces.list.items': 'data',
      'spaces.list.next': 'link:links.next',
    });
  });

  test('in HAL is read: embedded lists, links with an href', async () => {
    const document = openApi({
      '/automation/partner-cron-jobs/': {
        get: operation(
          object({
            _embedded: object({ jobs: list(object('jobId', 'agentId', 'title')) }),
            _links: object({ self: object('href'), next: object('href') }),
          }),
        ),
      },
    });
    expect((await read(document)).changes).toMatchObject({
      'cron_jobs.list.items': '_embedded.jobs',
      'cron_jobs.list.next': 'link:_links.next',
      'cron_job.id': `jobId, ${LEAVES['cron_job.id'].value}`,
    });
  });

  test('may have a history by POST, and an author with another role name', async () => {
    const author = { ...text, enum: ['customer', 'concierge'] };
    const entries = list(object('id', { payload: object('text') }, { role: author }, 'sent_at'));
    const document = openApi({
      [HISTORY]: { post: write(object('channel', 'conversation', 'after'), object({ data: object({ entries }) })) },
    });
    expect((await read(document)).changes).toEqual({
      'messages.history': 'POST /integrations/api-chat/history/',
      'messages.history.source_id': 'body:channel',
      'messages.history.session_id': 'body:conversation',
      'messages.history.after_message_id': 'body:after',
      'messages.history.items': 'data.entries',
      'message.author.agent': `${LEAVES['message.author.agent'].value}, concierge`,
    });
  });

  test('says where fields are that the program would refuse to look for', async () => {
    const found = object({ _source: object('external_space_id', { title: object('rendered') }) }, '_id');
    const document = openApi({
      [SPACES]: { get: operation(list(found)) },
      [JOBS]: { get: operation(list(object('id', 'agentId', 'caption', 'createdDateTime'))) },
    });
    expect(await read(document)).toEqual({
      changes: {
        'spaces.list.items': '$',
        'space.at': '_source',
        'space.name': '_source.title.rendered',
        'cron_jobs.list.items': '$',
        'cron_job.name': 'caption',
      },
      questions: [],
    });
  });

  test('with two names for one field leads to a question that names both', async () => {
    const both = list(object('space_id', 'customerReference', 'partnerReference', 'name'));
    const ids = list(object('id', 'uuid', 'name'));
    const document = openApi({ [SPACES]: { get: operation(both) }, [AGENTS]: { get: operation(ids) } });
    const { questions } = await read(document);
    expect(questions).toContainEqual(
      expect.stringContaining('Set space.external_space_id to customerReference or partnerReference'),
    );
    expect(questions).toContainEqual(expect.stringContaining('Set agent.id to id or uuid.'));
  });

  test('with two lists leads to a question', async () => {
    const spaces = object({ current: list(object('id')) }, { archived: list(object('id')) });
    const { changes, questions } = await read(openApi({ [SPACES]: { get: operation(spaces) } }));
    expect(changes).toEqual({});
    expect(questions).toEqual([expect.stringContaining('in several places: current, archived')]);
  });

  test('may say that jobs are only listed by agent, which is no list of all', async () => {
    const parameters = [{ name: 'agent_id', in: 'query', required: true, schema: text }];
    const document = openApi({ [JOBS]: { get: operation(list(object('id', 'agent_id', 'name')), { parameters }) } });
    expect((await read(document)).changes).toMatchObject({ 'cron_jobs.list': 'none' });
  });

  test('may have recursive schemas', async () => {
    const document = openApi(
      { '/automation/spaces/': { get: operation(list(ref('Space'))) } },
      {
        Space: {
          ...object('space_id', 'external_space_id', 'name'),
          properties: {
            space_id: text,
            external_space_id: text,
            name: text,
            parent: ref('Space'),
            children: list(ref('Space')),
          },
        },
      },
    );
    expect(await read(document)).toMatchObject({ changes: { 'spaces.list.items': '$' }, questions: [] });
  });

  test('may declare an error with 200 and the created resource with 201', async () => {
    const failed = upload('file', object('ok', 'error'));
    const created = { content: { 'application/json': { schema: object('document_number') } } };
    const responses = Object.assign({ '201': created }, failed.responses);
    const document = openApi({ '/automation/documents/': { post: { ...failed, responses } } });
    expect(await read(document)).toEqual({
      changes: {
        'document.id': `document_number, ${LEAVES['document.id'].value}`,
      },
      questions: [],
    });
  });

  test('leaves it open whether "next" is a link or a token, unless it says so', async () => {
    const page = (next: Data): Data =>
      openApi({
        '/automation/spaces/': {
          get: operation(object({ next }, { results: list(object('space_id', 'external_space_id', 'name')) }), {
            parameters: query('cursor'),
          }),
        },
      });
    const nextOf = async (next: Data) => (await read(page(next))).changes['spaces.list.next'];
    expect(await nextOf(text)).toBeUndefined();
    expect(await nextOf({ ...text, format: 'uri' })).toBe('link:next');
    expect(await nextOf(object('href'))).toBe('link:next');
    expect(await nextOf(object('after'))).toBe('token:next.after:cursor');
  });

  test('takes `after` for the place of a token, and not of an id, if the response has `next_after`', async () => {
    const page = object('next_after', 'has_more', { results: list(object('space_id', 'external_space_id')) });
    const document = openApi({ '/automation/spaces/': { get: operation(page, { parameters: query('after') }) } });
    expect((await read(document)).changes['spaces.list.next']).toBe('token:next_after:after');
  });
});
