import type { Shape } from '../shape.ts';

/** Dialects of the history. */
export const HISTORY_DIALECTS: readonly Shape[] = [
  {
    name: 'newest-first',
    description: 'histories begin with the newest message; the time is "timestamp"',
    history: { isNewestFirst: true },
    fields: { 'message.created_at': 'timestamp' },
    list: '{plural}',
  },
  {
    name: 'newest-pages',
    description: 'histories begin with the newest message, in pages; times are seconds under "ts"',
    list: 'data',
    time: 'epoch_seconds',
    fields: { created_at: 'ts' },
    history: { isNewestFirst: true, after: 'oldest' },
    author: { name: 'sender_type', form: 'string', roles: { user: 'contact', assistant: 'agent_bot' } },
    paging: { by: 'token', parameter: 'cursor', size: 'limit', pageSize: 2, body: { next_cursor: 'next_token' } },
  },
  {
    name: 'inclusive',
    description: 'a page repeats the message of the cursor; the cursor is since_id',
    history: { isInclusive: true, after: 'since_id' },
    list: 'data',
  },
  {
    name: 'history-by-post',
    description: 'the history is read by POST, with its parameters as JSON; next_cursor goes into start_cursor',
    history: { method: 'POST' },
    paging: {
      by: 'token',
      parameter: 'start_cursor',
      size: 'page_size',
      pageSize: 2,
      body: { next_cursor: 'next_token', has_more: 'has_more' },
    },
  },
  {
    name: 'history-parameters',
    description: 'the history takes source, conversation, and after',
    history: { source: 'source', session: 'conversation', after: 'after' },
    list: 'items',
  },
  {
    name: 'every-session',
    description: 'the history ignores the session: it has the messages of every session of the source',
    history: { ignoresSession: true },
  },
  {
    name: 'no-history-yet',
    description: 'the history of a session without messages is 404; empty lists are null',
    history: { isEmptyNotFound: true },
    emptyList: 'null',
    list: 'data',
  },
];

/** Dialects of statuses and redirects. */
export const STATUS_DIALECTS: readonly Shape[] = [
  {
    name: 'location',
    description: 'writes get a 201 with a Location and no body',
    writes: { status: 201, isLocationOnly: true },
    list: 'data',
  },
  {
    name: 'no-content',
    description: 'new jobs, documents, and attachments get a 204 with a Location',
    writes: { status: 204, isLocationOnly: true, kinds: ['cron_job', 'document', 'file_attachment'] },
    id: 'id',
  },
  {
    name: 'accepted',
    description: 'writes get a 202',
    writes: { status: 202 },
    single: 'data',
    list: 'data',
    errors: 'problem',
  },
  {
    name: 'always-ok',
    description: 'writes always get a 200; empty lists are null; errors have status 200',
    writes: { status: 200 },
    emptyList: 'null',
    list: 'result',
    single: 'result',
    constants: { success: true },
    errors: 'success_flag',
    errorsAreOk: true,
  },
  {
    name: 'drop-slash-301',
    description: 'paths have no trailing slash; others are redirected with 301',
    redirect: { slash: 'drop', status: 301 },
  },
  {
    name: 'drop-slash-308',
    description: 'paths have no trailing slash; others are redirected with 308, by path; pages by page number',
    redirect: { slash: 'drop', status: 308, isPath: true },
    list: 'data',
    paging: { by: 'page', parameter: 'page', size: 'limit', pageSize: 2, body: { next: 'next_url' } },
  },
  {
    name: 'drop-slash-307',
    description: 'paths have no trailing slash; others are redirected with 307',
    redirect: { slash: 'drop', status: 307 },
    case: 'camel',
    list: 'items',
    errors: 'messages',
  },
  {
    name: 'add-slash',
    description: 'links to pages have no trailing slash, and are redirected with 301',
    redirect: { slash: 'add', status: 301 },
    paging: { by: 'token', parameter: 'cursor', size: 'limit', pageSize: 2, body: { next: 'next_url' } },
  },
];

/** Dialects of requests. */
export const REQUEST_DIALECTS: readonly Shape[] = [
  {
    name: 'camel-requests',
    description: 'requests are expected in camelCase, too',
    case: 'camel',
    request: { case: 'camel' },
    list: 'items',
    errors: 'problem',
  },
  {
    name: 'data-requests',
    description: 'the fields of requests are expected under "data", files in the field "upload"',
    request: { at: 'data', file: 'upload' },
    list: 'data',
    single: 'data',
    errors: 'laravel',
  },
  {
    name: 'json-api-requests',
    description: 'the fields of requests are expected under data.attributes',
    id: 'id',
    nesting: 'attributes',
    list: 'data',
    single: 'data',
    request: { at: 'data/attributes' },
    errors: 'json_api',
  },
  {
    name: 'wrapped-requests',
    description: 'the fields of requests are expected under the name of the resource',
    id: 'id',
    list: '{plural}',
    single: '{singular}',
    request: { at: '{singular}' },
    errors: 'detail',
  },
  {
    name: 'renamed-requests',
    description: 'requests have content for text, prompt for instructions, and conversation_id for session_id',
    request: { fields: { text: 'content', instructions: 'prompt', session_id: 'conversation_id' }, file: 'attachment' },
    fields: { text: 'content', instructions: 'prompt', session_id: 'conversation_id' },
    list: 'data',
  },
];
