import { expect } from 'vitest';
import { fasterClock, run, tempDirectory, tinyRandom } from './run.ts';
import { HISTORY } from './sandbox-chat.ts';
import { PROVISION, provisionBody } from './sandbox-client.ts';
import { CRON_JOBS } from './sandbox-cron.ts';
import { type Service, service, write } from './service.ts';

/** How an operation ended. */
interface Outcome {
  readonly name: string;
  readonly needs: string | undefined;
  readonly code: number;
  /** Without ids and times, which differ from one service to the next. */
  readonly answer: unknown;
  readonly stderr: string;
}

export interface Performance {
  readonly outcomes: readonly Outcome[];
  /** The objects at the service afterwards. */
  readonly things: readonly string[];
}

interface Seeded {
  readonly it: Service;
  readonly space: string;
  readonly agent: string;
  readonly source: string;
  /** The third of five messages of the session. */
  readonly message: string;
}

/** An unknown shape, a request that the service rejects, or a write whose response has no id. */
const REFUSALS = [8, 1, 9];
const SESSION = 'anna';
/** The operation whose response is lost. */
const LOST = 'cron create without an answer';
const MESSAGES = [
  ['user', 'Where is my invoice?'],
  ['assistant', 'Which month?'],
  ['user', 'March.'],
  ['user', 'And April.'],
  ['assistant', 'Both are in your inbox.'],
];
const MANIFEST = `external_space_id: wayne
space: { name: Wayne, description: Support for Wayne, is_org_wide: false }
agents:
  - { template_id: tmpl_support, name: Helper, auto_create_api_chat: true, api_chat_routing_mode: session_workflow }
  - { template_id: tmpl_sales, name: Seller }
  - { template_id: tmpl_billing, name: Biller }
`;
const SCRIPT = [
  { pattern: '^Hello', replies: [{ text: 'Good morning.', delay_ms: 5 }] },
  { pattern: '.', fail: 'silent' as const },
];

async function historyOf({ it, source }: Pick<Seeded, 'it' | 'source'>, session_id: string) {
  const query = new URLSearchParams({ source_id: source, session_id });
  const { json } = await it.partner('GET', `${HISTORY}?${query}`);
  return json.results as readonly { readonly message_id: string; readonly text: string }[];
}

/** Five spaces, three agents in the first, a source with two sessions, and three jobs. */
async function seed(shape: string): Promise<Seeded> {
  const it = await service({ shape, script: SCRIPT });
  const agents = ['Support', 'Sales', 'Billing'].map((name) => ({ template_id: 'tmpl_sales', name }));
  const { json } = await it.partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
  await it.admin('POST', '/spaces', { count: 4 });
  const space: string = json.space.space_id;
  const agent: string = json.agents[2].agent_id;
  const setup = `/automation/spaces/${space}/agents/${agent}/api-chat/`;
  const source: string = (await it.partner('POST', setup, { body: { name: 'Chat' } })).json.source_id;
  for (const session_id of [SESSION, 'ben']) {
    for (const [role, text] of MESSAGES) {
      await it.admin('POST', '/messages', { source_id: source, session_id, role, text: `${session_id}: ${text}` });
    }
  }
  const schedule = { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '*' }, timezone: 'UTC' };
  for (const name of ['weekly', 'nightly', 'hourly']) {
    await it.partner('POST', CRON_JOBS, { body: { agent_id: agent, name, instructions: 'Sort.', schedule } });
  }
  const message = (await historyOf({ it, source }, SESSION))[2]?.message_id ?? '';
  return { it, space, agent, source, message };
}

/** A name for each id of the service, in the order of creation. */
async function namesOfIds(seeded: Seeded): Promise<readonly (readonly [id: string, name: string])[]> {
  const { it } = seeded;
  const named: [string, string][] = [];
  for (const { space_id, external_space_id } of await it.spaces()) {
    named.push([space_id, `<space ${external_space_id}>`]);
    for (const { agent_id, name } of await it.agents(space_id)) named.push([agent_id, `<agent ${name}>`]);
  }
  for (const session of [SESSION, 'ben', 'chat', 'once']) {
    for (const { message_id, text } of await historyOf(seeded, session)) named.push([message_id, `<message ${text}>`]);
  }
  for (const { cron_job_id, name } of (await it.partner('GET', CRON_JOBS)).json.results) {
    named.push([cron_job_id, `<job ${name}>`]);
  }
  for (const { document_id, file_attachment_id } of (await it.admin('GET', '/uploads')).json.uploads) {
    named.push([document_id ?? file_attachment_id, document_id ? '<document>' : '<attachment>']);
  }
  return named;
}

interface Operation {
  readonly name: string;
  readonly argv: readonly string[];
  /** Its home directory, if it does not run on the first machine. */
  readonly machine?: string;
  /** The operation without which it cannot return the right result. */
  readonly needs?: string;
}

function chatOperations({ space, source, message }: Seeded): readonly Operation[] {
  const chat = (verb: string, session: string) => ['chat', verb, '--source', source, '--session', session];
  // If the service does not say whether the message is new, `created` is null.
  const answer = ['-o', 'json', '--query', '{id: message_id, is_new: created == `true`, text: reply}'];
  const send = [...chat('send', 'chat'), '--external-id', 'x1', 'Nothing comes back.', ...answer];
  return [
    { name: 'chat setup', argv: ['chat', 'setup', space, 'name:Billing', '--query', 'source_id'] },
    { name: 'chat tail', argv: [...chat('tail', SESSION), '--from-start', '--no-follow', '-o', 'ndjson'] },
    { name: 'chat tail --after', argv: [...chat('tail', SESSION), '--after', message, '--no-follow', '-o', 'ndjson'] },
    { name: 'chat wait', argv: [...chat('wait', SESSION), '--after', message] },
    { name: 'chat send', argv: send },
    { name: 'chat send again', argv: send, needs: 'chat send' },
    { name: 'chat send --wait', argv: [...chat('send', 'once'), '--external-id', 'x2', '--wait', 'Hello!'] },
  ];
}

function jobOperations({ agent }: Seeded, second: string): readonly Operation[] {
  const content = ['--instructions', 'Sum up.', '--minute', '0', '--hour', '9', '--timezone', 'UTC', '-o', 'json'];
  const create = ['cron', 'create', '--agent', agent, '--name', 'daily', ...content];
  const lost = ['cron', 'create', '--agent', agent, '--name', 'lost', ...content];
  return [
    { name: 'cron create', argv: create },
    { name: 'cron create again', argv: create, needs: 'cron create' },
    { name: 'cron create on a second machine', argv: create, machine: second, needs: 'cron create' },
    { name: 'cron list', argv: ['cron', 'list'], needs: 'cron create' },
    { name: LOST, argv: lost },
    { name: 'cron reconcile', argv: ['cron', 'reconcile', '-o', 'json'], needs: 'cron create' },
    { name: 'cron create after reconcile', argv: lost, needs: 'cron reconcile' },
  ];
}

function operationsOf(seeded: Seeded): readonly Operation[] {
  const { space } = seeded;
  const second = tempDirectory();
  const provision = ['provision', write('wayne.yaml', MANIFEST), '-o', 'json'];
  const note = write('note.txt', 'Opening hours: 9 to 5.');
  const upload = ['upload', note, '-o', 'json'];
  return [
    { name: 'spaces list', argv: ['spaces', 'list'] },
    { name: 'agents list', argv: ['agents', 'list', space] },
    { name: 'agents list ext:', argv: ['agents', 'list', 'ext:space-4'] },
    { name: 'agents list name:', argv: ['agents', 'list', 'name:Acme'] },
    ...chatOperations(seeded),
    { name: 'provision', argv: provision },
    { name: 'provision again', argv: provision, needs: 'provision' },
    { name: 'provision on a second machine', argv: provision, machine: second, needs: 'provision' },
    { name: 'upload attachment', argv: upload },
    { name: 'upload again', argv: upload, needs: 'upload attachment' },
    { name: 'upload document', argv: ['upload', '--as', 'document', note, '-o', 'json'] },
    ...jobOperations(seeded, second),
  ];
}

/** Fields that differ between any two services, and objects that have the shape of the service. */
const LEFT_OUT = new Set(['raw', 'file', 'source', 'key', 'error']);

/** The output with names for ids: a list of the JSON documents in it, or text. */
function parse(text: string, names: readonly (readonly [id: string, name: string])[]): unknown {
  let named = text.replace(/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, '<time>').replace(/\bsrc_[0-9a-f]{20}/g, '<source>');
  for (const [id, name] of names) named = named.replaceAll(id, name);
  const replace = (key: string, value: unknown): unknown => (LEFT_OUT.has(key) ? undefined : value);
  try {
    return JSON.parse(`[${named.trimEnd().split('}\n{').join('},{')}]`, replace);
  } catch {
    return named;
  }
}

/** Performs every operation in turn with a client that knows nothing of the shape. */
export async function performEveryOperation(shape: string): Promise<Performance> {
  const seeded = await seed(shape);
  const { it } = seeded;
  const ended: { operation: Operation; code: number; stdout: string; stderr: string }[] = [];
  for (const operation of operationsOf(seeded)) {
    const { name, argv, machine: HOME = it.env.HOME ?? '' } = operation;
    if (name === LOST) await it.faults({ kind: 'reset', stage: 'after', on: `POST ${CRON_JOBS}`, times: 1 });
    const settings = { env: { ...it.env, HOME }, clock: fasterClock(20), random: tinyRandom };
    const { code, stdout, stderr } = await run([...argv, '--timeout', '1m'], settings);
    ended.push({ operation, code, stdout, stderr });
  }
  const names = await namesOfIds(seeded);
  const outcomes = ended.map(({ operation: { name, needs }, code, stdout, stderr }) => {
    return { name, needs, code, answer: parse(stdout, names), stderr };
  });
  return { outcomes, things: names.map(([, name]) => name) };
}

/** Whether an operation was not done, reports that by its exit code, and names a command that settles it. */
function isRefusal({ code, stderr }: Outcome): boolean {
  return REFUSALS.includes(code) && /partnerctl contract (set|import) /.test(stderr);
}

/** Checks that a client did the same as with the plain shape, or rejected it, and created nothing twice. */
export function expectRightOrRefused({ outcomes, things }: Performance, plain: Performance): void {
  const isRefused = new Map<string, boolean>();
  for (const [index, outcome] of outcomes.entries()) {
    const { name, needs = '', code, answer } = outcome;
    const isDependent = isRefused.get(needs) ?? false;
    isRefused.set(name, isDependent || isRefusal(outcome));
    if (isRefused.get(name)) continue;
    const expected = plain.outcomes[index];
    expect({ name, code, answer }, outcome.stderr).toEqual({ name, code: expected?.code, answer: expected?.answer });
  }
  expect(new Set(things).size, things.join(', ')).toBe(things.length);
  expect(plain.things).toEqual(expect.arrayContaining([...things]));
}
