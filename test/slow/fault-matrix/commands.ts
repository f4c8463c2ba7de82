import type { CodesByMeaning, MatrixCommand } from './command.ts';
import type { World } from './world.ts';

const SPACES = ['acme', 'other-1', 'other-2', 'other-3', 'other-4'];

/** The commands that only read, and the login. */
export const READING: readonly MatrixCommand[] = [
  { name: 'login', argv: () => ['login', '--profile', 'work'], reads: { forbidden: [0] } },
  { name: 'spaces list', argv: () => ['spaces', 'list', '--query', '[].external_space_id'], shows: SPACES },
  {
    name: 'spaces list json',
    argv: () => ['spaces', 'list', '-o', 'json', '--debug'],
    shows: SPACES.map((id) => `"external_space_id":"${id}"`),
  },
  { name: 'agents list', argv: () => ['agents', 'list', 'ext:acme', '--query', '[].name'], shows: ['Support'] },
];

const manifest = (id: string, agents: readonly string[], more = ''): string =>
  `external_space_id: ${id}\nspace: { name: Space of ${id} }\nagents:\n${agents
    .map((name) => `  - { template_id: tmpl_support, name: ${name}${more} }\n`)
    .join('')}`;

const things = (id: string, agents: readonly string[]): string[] => [
  `space ${id}`,
  ...agents.map((name) => `agent ${id} ${name}`),
];

const AGENTS = ['Support', 'Sales', 'Billing'];
const JOBS = ", cron: [{ name: morning, instructions: Look., schedule: '0 8 * * *' }]";

/** Without a list, the state file is enough. But a list that was read before, or a page of it, is not absent. */
const LISTS: CodesByMeaning = {
  forbidden: [0, 3, 8],
  denied: [0, 3, 8],
  'not-found': [0, 4, 8],
  'gateway-404': [0, 8],
};

export const PROVISION: readonly MatrixCommand[] = [
  {
    name: 'provision --dry-run',
    argv: ({ home }) => ['provision', `${home}/new.yaml`, '--dry-run'],
    files: { 'new.yaml': manifest('new', AGENTS) },
    reads: LISTS,
    isGuardedByLists: true,
  },
  {
    name: 'provision new',
    argv: ({ home }) => ['provision', `${home}/new.yaml`],
    files: { 'new.yaml': manifest('new', AGENTS) },
    reads: LISTS,
    isGuardedByLists: true,
    adds: things('new', AGENTS),
  },
  {
    name: 'provision unchanged',
    argv: ({ home }) => ['provision', `${home}/new.yaml`, '-o', 'json'],
    files: { 'new.yaml': manifest('new', AGENTS) },
    after: { argv: ({ home }) => ['provision', `${home}/new.yaml`] },
    reads: LISTS,
    isGuardedByLists: true,
    adds: things('new', AGENTS),
    shows: ['"unchanged": 1'],
  },
  {
    name: 'provision full',
    argv: ({ home }) => ['provision', `${home}/new.yaml`, '-o', 'json', '--debug'],
    files: { 'new.yaml': manifest('new', ['Support', 'Sales'], `, chat: {}${JOBS}`) },
    hasItems: true,
    reads: LISTS,
    isGuardedByLists: true,
    adds: [...things('new', ['Support', 'Sales']), 'job new Support morning', 'job new Sales morning'],
    settle: ['cron', 'reconcile', '--assume-not-created', '--grace', '100ms'],
  },
  {
    name: 'provision several',
    argv: ({ home }) => ['provision', home, '--concurrency', '1'],
    files: { 'a.yaml': manifest('anna', AGENTS), 'b.yaml': manifest('bert', AGENTS) },
    hasItems: true,
    reads: LISTS,
    isGuardedByLists: true,
    adds: [...things('anna', AGENTS), ...things('bert', AGENTS)],
  },
  {
    name: 'provision more',
    argv: ({ home }) => ['provision', `${home}/more.yaml`],
    files: { 'new.yaml': manifest('new', ['Support']), 'more.yaml': manifest('new', AGENTS) },
    after: { argv: ({ home }) => ['provision', `${home}/new.yaml`] },
    reads: LISTS,
    isGuardedByLists: true,
    adds: things('new', AGENTS),
  },
];

const inSession = ({ source }: World): readonly string[] => ['--source', source, '--session', 'anna'];

/** A tail continues after most failures, until the service was unreachable for too long. */
const TAIL: CodesByMeaning = {
  unreadable: [0, 8],
  late: [0, 8],
  'not-found': [0, 4],
  'gateway-404': [0, 8],
  redirect: [0, 8],
};
/** Waiting ends when the time is up, and says so. */
const WAIT: CodesByMeaning = { ...TAIL, late: [8, 11], unsent: [8, 11], outage: [8, 11], closed: [7, 11] };
/** 10 s in real time. */
const WAIT_MS = 200_000;

const MESSAGES = ['Hello.', 'Noted.', 'Again.', 'Yes.'];

export const CHAT: readonly MatrixCommand[] = [
  {
    name: 'chat setup',
    argv: () => ['chat', 'setup', 'ext:acme', 'name:Support', '--query', 'routing_mode'],
    shows: ['session_workflow'],
    // After a success without a body, the id is looked up in the list of agents, which does not have more.
    showsLess: ['unreadable'],
  },
  { name: 'chat setup json', argv: ({ space, agent }) => ['chat', 'setup', space, agent, '-o', 'json'] },
  {
    name: 'chat send',
    argv: (world) => ['chat', 'send', ...inSession(world), 'What is open?'],
    adds: ['message What is open?'],
    repeatsMessages: true,
  },
  {
    name: 'chat send json',
    argv: (world) => ['chat', 'send', ...inSession(world), 'What is open?', '-o', 'json', '--debug'],
    adds: ['message What is open?'],
    repeatsMessages: true,
  },
  {
    name: 'chat send --wait',
    argv: (world) => ['chat', 'send', ...inSession(world), 'What is open?', '--wait'],
    reads: WAIT,
    timeoutMs: WAIT_MS,
    adds: ['message What is open?'],
    shows: ['Noted.'],
    repeatsMessages: true,
  },
  {
    name: 'chat wait',
    argv: (world) => ['chat', 'wait', ...inSession(world), '--after', world.message, '-o', 'json'],
    reads: WAIT,
    timeoutMs: WAIT_MS,
  },
  {
    name: 'chat tail --no-follow',
    argv: (world) => ['chat', 'tail', ...inSession(world), '--from-start', '--no-follow', '--max-outage', '20s'],
    reads: TAIL,
    shows: MESSAGES,
    showsLess: ['not-found', 'stale'],
  },
  {
    name: 'chat tail',
    argv: (world) => ['chat', 'tail', ...inSession(world), '--from-start', '--max-outage', '20s'],
    follows: { arrival: 4, interrupt: 5 },
    timeoutMs: WAIT_MS,
    reads: TAIL,
    shows: [...MESSAGES, 'Later.'],
    showsLess: ['not-found', 'late'],
  },
];

const LARGE = 'The quick brown fox jumps over the lazy dog. '.repeat(10_000);

export const UPLOAD: readonly MatrixCommand[] = [
  {
    name: 'upload',
    argv: ({ home }) => ['upload', `${home}/a.txt`],
    files: { 'a.txt': 'Opening hours: 9 to 5.' },
    adds: ['file a.txt'],
  },
  {
    name: 'upload json',
    argv: ({ home }) => ['upload', `${home}/a.txt`, '-o', 'json', '--debug'],
    files: { 'a.txt': 'Opening hours: 9 to 5.' },
    adds: ['file a.txt'],
  },
  {
    name: 'upload large',
    argv: ({ home }) => ['upload', `${home}/large.txt`],
    files: { 'large.txt': LARGE },
    // A silent service may not even accept all of it.
    writes: { late: [8, 9] },
    adds: ['file large.txt'],
  },
  {
    name: 'upload several',
    argv: ({ home }) => ['upload', ...['a', 'b', 'c'].map((name) => `${home}/${name}.txt`), '--concurrency', '1'],
    files: { 'a.txt': 'One.', 'b.txt': 'Two.', 'c.txt': 'Three.' },
    hasItems: true,
    adds: ['file a.txt', 'file b.txt', 'file c.txt'],
  },
  {
    name: 'upload stdin',
    argv: () => ['upload', '-', '--filename', 'in.txt'],
    stdin: 'From a pipe.',
    adds: ['file in.txt'],
  },
  {
    name: 'upload text',
    argv: () => ['upload', '--as', 'document', '--name', 'hours.md', '--text', 'Opening hours: 9 to 5.'],
    adds: ['file hours.md'],
  },
];

const SCHEDULE = ['--instructions', 'Sum up the day.', '--schedule', '0 9 * * 1-5', '--timezone', 'Europe/Berlin'];
const createJob = (agent: string): readonly string[] => [
  'cron',
  'create',
  '--agent',
  agent,
  '--name',
  'daily',
  ...SCHEDULE,
];
const SETTLE = ['cron', 'reconcile', '--assume-not-created', '--grace', '100ms'];
const DAILY = 'job acme Support daily';

/** Without a list, the state file is the guard. A gateway's page says nothing about the list. */
const GUARD: CodesByMeaning = { forbidden: [0], denied: [0, 3], 'not-found': [0], 'gateway-404': [8] };

/** A job whose creation was acknowledged without its id is looked up in the list. */
const LOOKED_UP: CodesByMeaning = { unreadable: [0, 9] };

const JOBS_FILE = `agent: name:Support
space: ext:acme
jobs:
${['one', 'two', 'three'].map((name) => `  - { name: ${name}, instructions: Look., schedule: '0 8 * * *' }\n`).join('')}`;

export const CRON: readonly MatrixCommand[] = [
  {
    name: 'cron create',
    argv: ({ agent }) => createJob(agent),
    reads: GUARD,
    writes: LOOKED_UP,
    adds: [DAILY],
    repeatExits: 5,
    settle: SETTLE,
  },
  {
    name: 'cron create json',
    argv: ({ agent }) => [...createJob(agent), '-o', 'json', '--debug'],
    reads: GUARD,
    writes: LOOKED_UP,
    adds: [DAILY],
    repeatExits: 5,
    settle: SETTLE,
  },
  {
    name: 'cron create --ensure',
    argv: ({ agent }) => [...createJob(agent), '--ensure'],
    reads: GUARD,
    writes: LOOKED_UP,
    adds: [DAILY],
    settle: SETTLE,
  },
  {
    name: 'cron create -f',
    argv: ({ home }) => ['cron', 'create', '-f', `${home}/jobs.yaml`, '--ensure'],
    files: { 'jobs.yaml': JOBS_FILE },
    hasItems: true,
    // Its first reads find the agent, and the last one lists the jobs.
    reads: { forbidden: [0, 3], denied: [0, 3], 'not-found': [0, 4] },
    writes: LOOKED_UP,
    adds: ['one', 'two', 'three'].map((name) => `job acme Support ${name}`),
    settle: SETTLE,
  },
  { name: 'cron list', argv: () => ['cron', 'list', '--query', '[].name'], shows: ['Morning report'] },
  {
    name: 'cron reconcile',
    argv: () => ['cron', 'reconcile'],
    after: { argv: ({ agent }) => createJob(agent), loses: true },
    adds: [DAILY],
    reads: { stale: [9], 'not-found': [4, 8] },
    settle: SETTLE,
  },
  {
    name: 'cron adopt',
    argv: ({ agent, job }) => ['cron', 'adopt', job, '--agent', agent, '--name', 'Morning report', '--yes'],
    reads: GUARD,
  },
];
