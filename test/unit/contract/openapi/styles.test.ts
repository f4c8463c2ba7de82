import { describe, expect, test } from 'vitest';
import { LEAVES } from '../../../../src/contract/leaves.ts';
import { proposeFromOpenApi } from '../../../../src/contract/openapi/propose.ts';
import { type Data, flag, list, object, openApi, operation, query, ref, text, upload, write } from './documents.ts';

/** The leaves that a document changes, and what it leaves open. */
function read(document: Data) {
  const { proposals, questions } = proposeFromOpenApi(document, '/v1');
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

/** The bodies of the specification, under names as `name` writes them. */
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

describe('The OpenAPI document of', () => {
  test('the specification itself changes nothing but what it makes certain', () => {
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
    expect(read(document)).toEqual({
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

  test('FastAPI: references, nullable unions, plain lists, skip and limit, no closing slashes', () => {
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
    const { changes, questions } = read(document);
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
});
