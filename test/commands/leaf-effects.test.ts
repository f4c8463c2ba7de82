import { expect, test } from 'vitest';
import { type FakeService, type Handler, sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { write } from '../support/service.ts';

/* Every leaf of the contract has an effect: set to a unique name (`zz`), it changes what a command sends or reads. */

interface Leaf {
  readonly leaf: string;
  readonly kind: 'operation' | 'parameter' | 'items' | 'next' | 'at' | 'field' | 'values' | 'slash';
  readonly value: string;
}

const LEAVES = (
  await run(['contract', 'show', '-o', 'json'], {
    env: { HOME: '/nowhere', PARTNER_BASE_URL: 'http://127.0.0.1:9/v1' },
  })
).json<readonly Leaf[]>();

const manifest = (id: string) => `external_space_id: ${id}
space: { name: Acme, description: Support, is_org_wide: true }
agents:
  - { template_id: t1, name: Helper, auto_create_api_chat: true, api_chat_routing_mode: session_workflow }
`;
const SESSION = ['--source', 'src_1', '--session', 's-1'];
const JOB = ['--agent', 'a1', '--instructions', 'Sum up.', '--schedule', '0 9 * * *'];
const SETUP = ['chat', 'setup', 's1', 'a1', '--name', 'Web', '--routing-mode', 'session_workflow'];
const SPACES = () => ['spaces', 'list'];
const SEND = () => ['chat', 'send', ...SESSION, '--external-id', 'x1', 'Hello'];
const TAIL = () => ['chat', 'tail', ...SESSION, '--after', 'm0', '--no-follow'];

/** A command that each leaf with the prefix must change; the longest prefix wins. */
const COMMANDS: Readonly<Record<string, () => readonly string[]>> = {
  'spaces.list': SPACES,
  'space.': SPACES,
  'spaces.provision': () => ['provision', write('new.yaml', manifest('beta'))],
  'agents.list': () => ['agents', 'list', 's1'],
  'agent.': () => ['agents', 'list', 's1'],
  'agent.source_id': () => ['spaces', 'show', 's1'],
  'sources.setup': () => SETUP,
  'source.': () => SETUP,
  'messages.send': SEND,
  'messages.history': TAIL,
  'message.': TAIL,
  // Searches the history for a message that was acknowledged without an id.
  'cron_jobs.create': () => ['cron', 'create', ...JOB, '--name', 'Weekly'],
  'cron_jobs.list': () => ['cron', 'list'],
  'cron_job.': () => ['cron', 'list'],
  // Compares a job that exists.
  'cron_job.instructions': () => ['cron', 'create', ...JOB, '--name', 'Daily'],
  'documents.create': () => ['upload', '--as', 'document', write('a.txt', 'a')],
  'document.': () => ['upload', '--as', 'document', write('a.txt', 'a')],
  'file_attachments.create': () => ['upload', write('a.txt', 'a')],
  'file_attachment.': () => ['upload', write('a.txt', 'a')],
  'error.': SPACES,
  'paths.': SPACES,
};

/** What the service sends under the name `zz` if a text would not do. */
const ODD: Readonly<Record<string, unknown>> = {
  'space.is_org_wide': true,
  'source.reply_capable': false,
  'message.author': 'customer',
  'message.created_at': '2031-01-01T00:00:00Z',
  'cron_job.schedule': '5 5 * * 5',
};

const SCHEDULE = { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '*' } };
const SPACE = { space_id: 's1', external_space_id: 'acme', name: 'Acme', description: 'Support', is_org_wide: false };
const AGENT = { agent_id: 'a1', name: 'Helper', template_id: 't1', source_id: 'src_1' };
const SOURCE = { source_id: 'src_1', name: 'Web', reply_capable: true, routing_mode: 'agent_inbox' };
const JOB_1 = { cron_job_id: 'c1', agent_id: 'a1', name: 'Daily', instructions: 'Sum up.' };
const MESSAGE = { message_id: 'm1', session_id: 's-1', source_id: 'src_1', external_message_id: 'x1', text: 'Hello' };
const CREATED_AT = '2026-01-01T00:00:00Z';

/** Responds as the specification says, with an additional field for the leaf under test. */
function answering(tested: Leaf | undefined): Handler {
  const { leaf, kind } = tested ?? {};
  const field = kind === 'field' && leaf ? { zz: ODD[leaf] ?? 'zz-value' } : {};
  // A name that contradicts the one at the top.
  const zz = kind === 'at' ? { zz: { name: 'zz-value', external_message_id: 'zz-value' } } : field;
  const role = kind === 'values' ? 'zz-value' : 'assistant';
  const list = (item: object) => {
    const items = [{ ...item, ...zz }];
    return kind === 'items' ? { data: { rows: items }, zz: [] } : items;
  };
  const answers: readonly (readonly [RegExp, () => unknown])[] = [
    [/^GET .*\/agents\//, () => list(AGENT)],
    [/^GET .*\/spaces/, () => list(SPACE)],
    [/^GET .*\/history\//, () => list({ ...MESSAGE, role, created_at: CREATED_AT })],
    [/^GET .*\/partner-cron-jobs\//, () => list({ ...JOB_1, schedule: SCHEDULE, timezone: 'UTC' })],
    [/^POST .*\/provision-space\//, () => ({ space: { ...SPACE, external_space_id: 'beta' }, agents: [AGENT] })],
    [/^POST .*\/api-chat\/$/, () => ({ ...SOURCE, ...zz })],
    [/^POST .*\/message\//, () => ({ message_id: 'm2' })],
    [/^POST .*\/partner-cron-jobs\//, () => ({ cron_job_id: 'c2' })],
    [/^POST .*\/documents\//, () => ({ document_id: 'd1', ...zz })],
    [/^POST .*\/file-attachments\//, () => ({ file_attachment_id: 'f1', ...zz })],
  ];
  return ({ method, path }, response) => {
    if (leaf?.startsWith('error.')) return sendJson(response, { code: 'invalid', message: 'No.', ...zz }, 400);
    const answer = answers.find(([route]) => route.test(`${method} ${path.split('?')[0]}`))?.[1];
    sendJson(response, answer?.() ?? { detail: 'there is no such route' }, answer ? 200 : 404);
  };
}

/** Leaves that show in the requests, and so can be tested together. */
const SENT = new Set(['operation', 'parameter', 'next']);

function oddValue({ kind, value }: Leaf, name: string): string {
  const values = {
    operation: value.replace(' /', ` /${name}/`),
    parameter: value.replace(/[^:.\]]+$/, name),
    items: name,
    at: name,
    next: `page:${name}`,
    field: name,
    values: 'zz-value',
    slash: 'never',
  };
  return values[kind];
}

function prefixOf({ leaf }: Leaf): string {
  const prefixes = Object.keys(COMMANDS).filter((prefix) => leaf.startsWith(prefix));
  return prefixes.toSorted((a, b) => b.length - a.length)[0] ?? '';
}

/** Runs a command on a machine that knows only this leaf, and returns everything that it sent and wrote. */
async function observe(fake: FakeService, argv: readonly string[], overrides: Readonly<Record<string, string>>) {
  const [HOME, directory, clock] = [tempDirectory(), tempDirectory(), fastClock()];
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'test-token', PARTNER_CONFIG_DIR: directory, HOME };
  const names = Object.entries(overrides).flat();
  if (names.length > 0) expect(await run(['contract', 'set', ...names], { env })).toMatchObject({ code: 0 });
  const earlier = fake.requests.length;
  const { code, stdout, stderr } = await run([...argv, '--retries', '0', '--timeout', '5s'], {
    env,
    clock,
    random: tinyRandom,
  });
  const requests = fake.requests
    .slice(earlier)
    .map(({ method, path, body }) => `${method} ${path}\n${body.replace(/-partnerctl-\w+/g, '<boundary>')}`);
  const text = `${stdout}${stderr}`.replace(/req-[\w-]+/g, '<request>').replace(/\/tmp\/[^" ]*/g, '<path>');
  return { sent: requests.join('\n'), read: `exit ${code}\n${text}` };
}

test('every leaf of the requests changes what is sent', async () => {
  const fake = await startFakeService(answering(undefined));
  const sent = LEAVES.filter(({ kind }) => SENT.has(kind));
  const names = new Map(sent.map(({ leaf }, index) => [leaf, `zz${index + 100}`]));
  const idle: string[] = [];
  for (const [prefix, command] of Object.entries(COMMANDS)) {
    const together = sent.filter((leaf) => prefixOf(leaf) === prefix);
    if (together.length === 0) continue;
    const values = together.map((each) => [each.leaf, oddValue(each, names.get(each.leaf) ?? '')] as const);
    const { sent: requests } = await observe(fake, command(), Object.fromEntries(values));
    idle.push(...together.map(({ leaf }) => leaf).filter((leaf) => !requests.includes(names.get(leaf) ?? '?')));
  }
  expect(idle).toEqual([]);
});

test('every other leaf of the contract changes what is read', async () => {
  const fake = await startFakeService(answering(undefined));
  const idle: string[] = [];
  /** The output of each command without the leaf. */
  const usual = new Map<string, Awaited<ReturnType<typeof observe>>>();
  // Only `chat open` reads external ids, to recognize what was typed there.
  const read = LEAVES.filter(({ leaf, kind }) => !SENT.has(kind) && leaf !== 'message.external_message_id');
  for (const tested of read) {
    const { leaf, kind } = tested;
    const argv = COMMANDS[prefixOf(tested)]?.() ?? [];
    fake.respond(answering(tested));
    // Only the leaf reads `zz`, so all fields of a resource share one baseline.
    const key = kind === 'field' ? prefixOf(tested) : leaf;
    const plain = usual.get(key) ?? (await observe(fake, argv, {}));
    usual.set(key, plain);
    const changed = await observe(fake, argv, { [leaf]: oddValue(tested, 'zz') });
    if (changed.sent === plain.sent && changed.read === plain.read) idle.push(`${leaf}: ${changed.read}`);
  }
  expect(idle).toEqual([]);
});
