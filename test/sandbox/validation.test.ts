import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Chat, createChat, HISTORY, MESSAGE, manualClock } from '../support/sandbox-chat.ts';
import { connectTo, PROVISION, provisionBody, SPACES, type TestSandbox } from '../support/sandbox-client.ts';
import { CRON_JOBS, jobBody, scheduleBody } from '../support/sandbox-cron.ts';
import { DOCUMENTS } from '../support/sandbox-uploads.ts';

const SALES = { template_id: 'tmpl_sales', name: 'Sales' };
const TIMESTAMP = 'set must be a timestamp such as 2030-01-31T09:00:00Z';
const DURATION = 'advance must be a duration such as 7d, 12h, 30m, 10s, or 500ms';

/** Everything that a request can change. */
async function readState({ admin, partner }: TestSandbox, chat: Chat): Promise<unknown> {
  const paths = ['/settings', '/tokens', '/faults', '/script', '/clock', '/cron-jobs', '/uploads'];
  const answers = await Promise.all(paths.map((path) => admin('GET', path)));
  const spaces = await partner('GET', SPACES);
  return [...answers.map(({ json }) => json), spaces.json, await chat.history()];
}

/** A body, or a function that creates it for a chat. Its fields are sent unchanged. */
type Body = unknown | ((chat: Chat) => unknown);

const message =
  (more: Record<string, unknown>) =>
  ({ source_id }: Chat) => ({
    source_id,
    session_id: 's1',
    text: 'Hello',
    external_message_id: 'e',
    ...more,
  });
const fault = (rule: object) => ({ rules: [rule] });

const ADMIN: readonly [string, Body, string[]][] = [
  ['PATCH /settings', { page_size: 1.5, latency_ms: 5 }, ['page_size is not a valid integer']],
  ['PATCH /settings', { page_size: 0 }, ['page_size must be >=1, not 0']],
  ['PATCH /settings', { balance_usd: '5' }, ['balance_usd must be a number, not "5"']],
  ['PATCH /settings', { rate_limit: { requests: 0, per_seconds: 1 } }, ['rate_limit.requests must be >=1, not 0']],
  ['PATCH /settings', { rate_limit: { requests: 1 } }, ['rate_limit.per_seconds is required']],
  ['PATCH /settings', { agents_on_repeat: 'double' }, ['agents_on_repeat must be ("reuse" | "install"), not "double"']],
  ['PATCH /settings', { max_document_bytes: -1 }, ['max_document_bytes must be >=0, not -1']],
  ['PATCH /settings', { color: 'red' }, ['color is not a known field']],
  [
    'POST /tokens',
    { scopes: ['spaces.read', 'root'], allowed_ip_cidrs: ['10.0.0.0/33', '127.0.0.1', 'localhost'], name: 'ci' },
    ['scopes[1]', 'allowed_ip_cidrs[0]', 'allowed_ip_cidrs[2]', 'name is not a known field'],
  ],
  ['PATCH /clock', { set: '2025-12-31T23:59:59Z' }, ['set must not be before 2026-01-01T00:00:00.000Z']],
  ['PATCH /clock', { set: '2037-01-01T00:00:00Z' }, ['set must be within ten years']],
  ['PATCH /clock', { advance: '900w' }, ['advance must be within ten years']],
  ['PATCH /clock', { set: 'tomorrow' }, [TIMESTAMP]],
  ['PATCH /clock', { set: '2026-13-01T00:00:00Z' }, [TIMESTAMP]],
  ['PATCH /clock', { advance: '-1d' }, [DURATION]],
  ['PATCH /clock', { advance: '7' }, [DURATION]],
  ['PATCH /clock', { advance: 7 }, ['advance must be a string, not 7']],
  ['PATCH /clock', { frozen: 'yes' }, ['frozen must be true or false, not "yes"']],
  ['PATCH /clock', { freeze: true }, ['freeze is not a known field']],
  ['PATCH /clock', { set: '2026-02-01T00:00:00Z', advance: '1d' }, [' must have set or advance, not both']],
  ['PUT /faults', fault({ kind: 'explode' }), ['rules[0].kind']],
  ['PUT /faults', fault({ kind: 'status' }), ['rules[0].status']],
  ['PUT /faults', fault({ kind: 'status', status: 200 }), ['rules[0].status']],
  ['PUT /faults', fault({ kind: 'reset', rate: 2 }), ['rules[0].rate']],
  ['PUT /faults', fault({ kind: 'reset', stage: 'after', at_bytes: 5 }), ['rules[0].at_bytes']],
  ['PUT /faults', fault({ kind: 'cut', stage: 'before' }), ['rules[0].stage']],
  ['PUT /faults', fault({ kind: 'reset', on: 'get /x' }), ['rules[0].on']],
  ['PUT /faults', fault({ kind: 'delay' }), ['rules[0].ms']],
  ['PUT /faults', fault({ kind: 'late', stage: 'after' }), ['rules[0].ms', 'rules[0].stage']],
  ['PUT /faults', fault({ kind: 'stale', ms: -1 }), ['rules[0].ms']],
  ['PUT /script', fault({ pattern: '(', replies: [{ text: 'x' }] }), ['rules[0].pattern must be a regular expression']],
  [
    'POST /messages',
    message({ external_message_id: undefined, role: 'system', text: '', count: 0 }),
    ['role', 'text', 'count'],
  ],
];

const PARTNER: readonly [string, Body, string[]][] = [
  [
    `POST ${PROVISION}`,
    {
      external_space_id: ' ',
      space: { description: 5, extra: 1, more: 2 },
      agents: [
        { template_id: 'tmpl_nope', name: '', auto_create_api_chat: 'yes', api_chat_routing_mode: 'email' },
        { template_id: 'tmpl_sales' },
      ],
      dry_run: true,
    },
    [
      'external_space_id must not be empty',
      'space.name is required',
      'space.description must be a string, not 5',
      'space.extra is not a known field',
      'space.more is not a known field',
      'agents[0].template_id names no approved template: "tmpl_nope"',
      'agents[0].name must not be empty',
      'agents[0].auto_create_api_chat must be true or false, not "yes"',
      'agents[0].api_chat_routing_mode must be one of agent_inbox, session_workflow',
      'agents[1].name is required',
      'dry_run is not a known field',
    ],
  ],
  [`POST ${PROVISION}`, [], [' must be an object']],
  [`POST ${PROVISION}`, null, [' must be an object']],
  [`POST ${PROVISION}`, provisionBody('a', { agents: [] }), ['agents must have at least one item']],
  [`POST ${PROVISION}`, provisionBody('a', { agents: Array(101).fill(SALES) }), ['agents must have at most 100 items']],
  [
    `POST ${MESSAGE}`,
    {},
    ['source_id is required', 'session_id is required', 'text is required', 'external_message_id is required'],
  ],
  [`POST ${MESSAGE}`, message({ text: '' }), ['text']],
  [`POST ${MESSAGE}`, message({ session_id: ' ' }), ['session_id']],
  [`POST ${MESSAGE}`, message({ session_id: 's'.repeat(256) }), ['session_id']],
  [`POST ${MESSAGE}`, message({ session_id: '\ud83d' }), ['session_id']],
  [`POST ${MESSAGE}`, message({ external_message_id: '' }), ['external_message_id']],
  [`POST ${MESSAGE}`, message({ response_mode: 'complete' }), ['response_mode']],
  [`POST ${MESSAGE}`, message({ color: 'red' }), ['color']],
  [`GET ${HISTORY}`, undefined, ['source_id', 'session_id']],
  [`GET ${HISTORY}?source_id=src_1`, undefined, ['session_id']],
  [`GET ${HISTORY}?session_id=s1`, undefined, ['source_id']],
  [
    `POST ${SPACES}{space_id}/agents/{agent_id}/api-chat/`,
    { name: ' ', reply_capable: 'yes', routing_mode: 'fast', color: 'red' },
    ['name', 'reply_capable', 'routing_mode', 'color'],
  ],
  [
    `POST ${CRON_JOBS}`,
    ({ agent_id }: Chat) => ({
      ...jobBody(agent_id, { name: ' ', instructions: undefined, extra: 1 }),
      schedule: { type: 'interval', data: { minute: 0, hour: '9', day_of_month: '1' } },
    }),
    [
      'name must not be empty',
      'instructions is required',
      'schedule.type must be cron',
      'schedule.data.minute must be a string, not 0',
      'schedule.data.day_of_week is required',
      'schedule.data.day_of_month is not a known field',
      'schedule.timezone is required',
      'extra is not a known field',
    ],
  ],
  ...['Mars/Olympus', '', '+02:00', 'Europe', 'Europe/Berlin '].map((timezone): [string, Body, string[]] => [
    `POST ${CRON_JOBS}`,
    ({ agent_id }: Chat) => jobBody(agent_id, scheduleBody('0 9 *', timezone)),
    [`schedule.timezone is not a known timezone: ${JSON.stringify(timezone)}`],
  ]),
  [`POST ${DOCUMENTS}`, { content: 'x' }, ['name']],
  [`POST ${DOCUMENTS}`, { name: ' ', content: 'x' }, ['name']],
  [`POST ${DOCUMENTS}`, { name: 'n' }, ['content']],
  [`POST ${DOCUMENTS}`, { name: 'n', content: '\ud800' }, ['content']],
  [`POST ${DOCUMENTS}`, { name: 'n', content: 'x', folder: 'y' }, ['folder']],
  ...['page_size=0', 'page_size=1001', 'page_size=ten', 'cursor=zzz', 'cursor='].map(
    (query): [string, Body, string[]] => [`GET ${SPACES}?${query}`, undefined, [query.replace(/=.*/, '')]],
  ),
];

async function prepareSandbox() {
  const sandbox = await startSandbox(manualClock());
  const on = connectTo(sandbox, await sandbox.createToken());
  const chat = await createChat(on);
  return { on, chat, before: await readState(on, chat) };
}

// One sandbox for all tests: none of the requests changes it.
let prepared: Promise<Awaited<ReturnType<typeof prepareSandbox>>>;

beforeAll(() => {
  prepared = prepareSandbox();
});

afterAll(async () => (await prepared).on.sandbox.close());

async function expectRefused(api: 'admin' | 'partner', request: string, body: Body, expected: string[]): Promise<void> {
  const { on, chat, before } = await prepared;
  const [method = '', path = ''] = request.split(' ');
  const filled = path.replace('{space_id}', chat.space_id).replace('{agent_id}', chat.agent_id);
  const sent = typeof body === 'function' ? body(chat) : body;
  const { status, json } =
    api === 'admin'
      ? await on.admin(method, filled, sent)
      : await on.partner(method, filled, sent === undefined ? {} : { raw: JSON.stringify(sent) });
  expect(status).toBe(422);
  const fields: { path: string; message: string }[] = json.error.fields;
  // Without a space, only the path is expected.
  const lines = fields.map((field, index) =>
    expected[index]?.includes(' ') ? `${field.path} ${field.message}` : field.path,
  );
  expect(lines).toEqual(expected);
  expect(await readState(on, chat)).toEqual(before);
}

test.each(ADMIN)('the admin API rejects %s with %j, names every invalid field, and changes nothing', (...row) =>
  expectRefused('admin', ...row),
);

test.each(PARTNER)('the API rejects %s with %j, names every invalid field, and changes nothing', (...row) =>
  expectRefused('partner', ...row),
);
