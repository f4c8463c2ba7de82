import { expect, test } from 'vitest';
import { type FakeService, type Handler, sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { write } from '../support/service.ts';

interface Leaf {
  readonly leaf: string;
  readonly kind: string;
  readonly value: string;
}

const SENT = ['operation', 'parameter', 'next'];

/** The leaves that show in requests. */
const LEAVES = (await run(['contract', 'show', '-o', 'json'], { env: { HOME: '/nowhere' } }))
  .json<readonly Leaf[]>()
  .filter(({ kind }) => SENT.includes(kind));

const MANIFEST = `external_space_id: beta
space: { name: Acme, description: Support, is_org_wide: true }
agents:
  - { template_id: t1, name: Helper, auto_create_api_chat: true, api_chat_routing_mode: session_workflow }
`;
const SESSION = ['--source', 'src_1', '--session', 's-1'];
const JOB = ['--agent', 'a1', '--instructions', 'Sum up.', '--schedule', '0 9 * * *'];

/** A command that each leaf with the prefix must change. */
const COMMANDS: Readonly<Record<string, () => readonly string[]>> = {
  'spaces.list': () => ['spaces', 'list'],
  'spaces.provision': () => ['provision', write('new.yaml', MANIFEST)],
  'agents.list': () => ['agents', 'list', 's1'],
  'sources.setup': () => ['chat', 'setup', 's1', 'a1', '--name', 'Web', '--routing-mode', 'session_workflow'],
  'messages.send': () => ['chat', 'send', ...SESSION, '--external-id', 'x1', 'Hello'],
  'messages.history': () => ['chat', 'tail', ...SESSION, '--after', 'm0', '--no-follow'],
  'cron_jobs.create': () => ['cron', 'create', ...JOB, '--name', 'Weekly', '--create-beside'],
  'cron_jobs.list': () => ['cron', 'list'],
  'documents.create': () => ['upload', '--as', 'document', write('a.txt', 'a')],
  'file_attachments.create': () => ['upload', write('a.txt', 'a')],
};

const SCHEDULE = { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '*' } };
const SPACE = { space_id: 's1', external_space_id: 'acme', name: 'Acme', description: 'Support', is_org_wide: false };
const AGENT = { agent_id: 'a1', name: 'Helper', template_id: 't1', source_id: 'src_1' };
const SOURCE = { source_id: 'src_1', name: 'Web', reply_capable: true, routing_mode: 'agent_inbox' };
const JOB_1 = { cron_job_id: 'c1', agent_id: 'a1', name: 'Daily', instructions: 'Sum up.' };
const MESSAGE = { message_id: 'm1', session_id: 's-1', source_id: 'src_1', external_message_id: 'x1', text: 'Hello' };

/** Responds as the specification says. */
const ANSWERS: readonly (readonly [RegExp, unknown])[] = [
  [/^GET .*\/agents\//, [AGENT]],
  [/^GET .*\/spaces/, [SPACE]],
  [/^GET .*\/history\//, [{ ...MESSAGE, role: 'assistant', created_at: '2026-01-01T00:00:00Z' }]],
  [/^GET .*\/partner-cron-jobs\//, [{ ...JOB_1, schedule: SCHEDULE, timezone: 'UTC' }]],
  [/^POST .*\/provision-space\//, { space: { ...SPACE, external_space_id: 'beta' }, agents: [AGENT] }],
  [/^POST .*\/api-chat\/$/, SOURCE],
  [/^POST .*\/message\//, { message_id: 'm2' }],
  [/^POST .*\/partner-cron-jobs\//, { cron_job_id: 'c2' }],
  [/^POST .*\/documents\//, { document_id: 'd1' }],
  [/^POST .*\/file-attachments\//, { file_attachment_id: 'f1' }],
];

const answer: Handler = ({ method, path }, response) => {
  const found = ANSWERS.find(([route]) => route.test(`${method} ${path.split('?')[0]}`));
  sendJson(response, found?.[1] ?? { detail: 'there is no such route' }, found ? 200 : 404);
};

/** A value that sends or requests something under this name. */
function oddValue({ kind, value }: Leaf, name: string): string {
  if (kind === 'next') return `page:${name}`;
  return kind === 'operation' ? value.replace(' /', ` /${name}/`) : value.replace(/[^:.\]]+$/, name);
}

/** Runs a command on a machine that knows only these leaves. @returns the requests that it sent */
async function requestsOf(fake: FakeService, argv: readonly string[], leaves: readonly string[]): Promise<string> {
  const [HOME, directory, clock] = [tempDirectory(), tempDirectory(), fastClock()];
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'test-token', PARTNER_CONFIG_DIR: directory, HOME };
  expect(await run(['contract', 'set', ...leaves], { env })).toMatchObject({ code: 0 });
  const earlier = fake.requests.length;
  await run([...argv, '--retries', '0', '--timeout', '5s'], { env, clock, random: tinyRandom });
  return fake.requests
    .slice(earlier)
    .map(({ method, path, body }) => `${method} ${path}\n${body}`)
    .join('\n');
}

test('every leaf of the requests changes what is sent', async () => {
  const fake = await startFakeService(answer);
  const seen = new Set<string>();
  for (const [prefix, command] of Object.entries(COMMANDS)) {
    const named = LEAVES.map((leaf, index) => ({ ...leaf, name: `zz${index + 100}` }));
    const together = named.filter(({ leaf }) => leaf.startsWith(prefix));
    const values = together.flatMap((each) => [each.leaf, oddValue(each, each.name)]);
    const requests = await requestsOf(fake, command(), values);
    for (const { leaf, name } of together) if (requests.includes(name)) seen.add(leaf);
  }
  expect(LEAVES.map(({ leaf }) => leaf).filter((leaf) => !seen.has(leaf))).toEqual([]);
});
