import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readReplay, writeReplayConfig } from '../../src/cli/replay-options.ts';
import { systemClock } from '../../src/clock.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { type Handler, json, startFakeService } from '../support/fake-service.ts';
import { type Ran, run, tempDirectory } from '../support/run.ts';
import { service, write } from '../support/service.ts';

const TOKEN = 'tok_secret_4711_abcdef';

/** A customer of a fake service. */
async function customer(script: Parameters<typeof startFakeService>[0]) {
  const fake = await startFakeService(script);
  const HOME = tempDirectory();
  const env = { HOME, PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: TOKEN };
  return { fake, HOME, env, path: join(HOME, 'support.ndjson') };
}

interface Line {
  readonly kind: string;
  readonly [key: string]: unknown;
}

function linesOf(path: string): readonly Line[] {
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The environment at support: a sandbox that replays the bundle. */
async function support(path: string): Promise<Record<string, string>> {
  const { signal } = new AbortController();
  const replay = await readReplay(path, signal);
  const sandbox = await startSandbox({ replay });
  onTestFinished(() => sandbox.close());
  const context = { clock: systemClock, random: Math.random, abortSignal: signal };
  const PARTNER_CONFIG_DIR = await writeReplayConfig(replay, sandbox.baseUrl, context);
  onTestFinished(() => rm(PARTNER_CONFIG_DIR, { recursive: true }));
  return {
    HOME: tempDirectory(),
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_TOKEN: await sandbox.defaultToken(),
    PARTNER_CONFIG_DIR,
  };
}

/** An error without what differs between the service and its replay: URLs and pseudonymized values. */
function comparable({ code, stderr }: Ran): unknown {
  if (code === 0) return { code };
  const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  const { type, message } = error;
  return { code, type, message: message.replace(/http:\S+/g, '<address>') };
}

const SPACES = [
  { space_id: 'sp_8f3a2b77c1', name: 'Globex Corporation', contact: 'ada@globex.example', seats: 12345 },
  { space_id: 'sp_77aa90b1dd', name: 'Initech', contact: 'bob@initech.example', seats: 7 },
];

const forbidden: Handler = json(
  { error: { code: 'insufficient_scope', message: 'The token lacks the scope spaces.read.' } },
  403,
);

test.each<[string, Record<string, Handler>, readonly string[]]>([
  [
    'a list in a shape that is not understood',
    { 'GET *': json({ alpha: SPACES, beta: [{ space_id: 'x1', name: 'Umbrella' }] }) },
    ['spaces', 'list'],
  ],
  ['a token without a scope', { 'GET *': forbidden }, ['spaces', 'list']],
  ['a service that fails', { 'GET *': json({ message: 'Internal error' }, 500) }, ['spaces', 'list', '--retries', '0']],
  [
    'a page of a gateway',
    { 'GET *': (_, response) => response.setHeader('content-type', 'text/html').end('<h1>Welcome, Globex</h1>') },
    ['spaces', 'list'],
  ],
  [
    'JSON that is cut',
    {
      'GET *': (_, response) =>
        response.setHeader('content-type', 'application/json').end('[{"space_id":"sp_8f3a2b77c1","na'),
    },
    ['spaces', 'list'],
  ],
  ['null instead of a list', { 'GET *': json(null) }, ['spaces', 'list']],
  ['nothing instead of a list', { 'GET *': (_, response) => response.end() }, ['spaces', 'list']],
  ['a string instead of an error', { 'GET *': json('The token expired.', 401) }, ['spaces', 'list']],
  [
    'a connection that is reset',
    { 'GET *': (request) => request.connection.resetAndDestroy() },
    ['spaces', 'list', '--retries', '0'],
  ],
])('the replay of %s ends as it did with the service', async (_, script, args) => {
  const { env, path, fake } = await customer(script);
  const seen = await run(['doctor', '-o', 'json', '--bundle', path], { env });
  const failed = await run([...args, '-o', 'json'], { env });
  fake.respond(json({ gone: true }, 410));
  const replayed = await support(path);
  const again = await run(['doctor', '-o', 'json'], { env: replayed });
  expect(comparable(again)).toEqual(comparable(seen));
  expect(comparable(await run([...args, '-o', 'json'], { env: replayed }))).toEqual(comparable(failed));
  const statuses = (ran: Ran) =>
    ran.json<{ checks: { name: string; status: string }[] }>().checks.map(({ name, status }) => `${name} ${status}`);
  expect(statuses(again)).toEqual(statuses(seen));
});

test('a bundle has the shape of the responses, and none of their names and texts', async () => {
  const { env, path } = await customer({
    'GET /automation/spaces/': json({ results: SPACES, next: null, total: 2 }),
    'GET *': json([]),
  });
  const ran = await run(['doctor', '-o', 'json', '--bundle', path], { env });
  expect(ran.code, ran.stderr).toBe(0);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const text = readFileSync(path, 'utf8');
  for (const secret of [TOKEN, 'sp_8f3a2b77c1', '8f3a2b77c1', 'Globex', 'Initech', 'ada', '12345', env.HOME])
    expect(text).not.toContain(secret);
  const lines = linesOf(path);
  expect(lines.map(({ kind }) => kind)).toEqual([
    'bundle',
    'settings',
    'contract',
    'state',
    ...Array(15).fill('check'),
    ...Array(4).fill('exchange'),
  ]);
  expect(lines[0]).toMatchObject({ version: 1, partnerctl: '0.0.0-test', platform: process.platform });
  expect(lines[1]).toMatchObject({
    base_url: { value: env.PARTNER_BASE_URL, from: 'PARTNER_BASE_URL' },
    token: { from: 'PARTNER_TOKEN' },
  });
  const exchanges = lines.filter(({ kind }) => kind === 'exchange');
  const [first] = exchanges;
  expect(first).toMatchObject({
    method: 'GET',
    path: '/automation/spaces/',
    query: [],
    status: 200,
    body: { json: { next: null, total: 2, results: [{ seats: expect.any(Number) }, { seats: 7 }] } },
  });
  const ids = JSON.stringify(first).match(/sp_\w+|\w\w_[0-9a-f]{10}/g) ?? [];
  // The request for the agents names the same space.
  expect(exchanges[2]).toMatchObject({ path: `/automation/spaces/${ids[0]}/agents/` });
  expect(ran.json()).toMatchObject({ bundle: { path, exchanges: 4, bytes: statSync(path).size } });
});

test('doctor --bundle lists what a bundle contains and omits, and replaces no file without --force', async () => {
  const { env, path, fake } = await customer(json([]));
  const first = await run(['doctor', '--bundle', path], { env, columns: 400 });
  expect(first.stderr).toMatch(/Left out: tokens, passwords/);
  expect(first.stderr).toMatch(/Review it before you send it\./);
  const count = fake.requests.length;
  const second = await run(['doctor', '-o', 'json', '--bundle', path], { env });
  expect({ ...second.error(), code: second.code }).toMatchObject({
    code: 2,
    message: `${path} already exists.`,
    hint: expect.stringContaining('--force'),
  });
  expect(fake.requests).toHaveLength(count);
  const before = readFileSync(path, 'utf8');
  expect((await run(['doctor', '-q', '--bundle', path, '--force'], { env })).code).toBe(0);
  expect(readFileSync(path, 'utf8')).not.toBe(before);
});

test('doctor --bundle replaces no directory or link, even with --force, and leaves no temporary file', async () => {
  const { env, path, fake, HOME } = await customer(json([]));
  const link = join(HOME, 'link');
  symlinkSync('/dev/null', link);
  mkdirSync(path);
  const files = readdirSync(HOME);
  for (const target of [path, link]) {
    const ran = await run(['doctor', '-o', 'json', '--bundle', target, '--force'], { env });
    expect({ ...ran.error(), code: ran.code }).toMatchObject({ code: 2, hint: expect.stringContaining('Nothing was') });
  }
  expect(readdirSync(HOME)).toEqual(files);
  expect(fake.requests).toEqual([]);
});

test.each([
  ['--include without --bundle', ['--include', 'trace.jsonl'], /--include needs --bundle/],
  ['--force without --bundle', ['--force'], /--force needs --bundle/],
  ['a trace that is missing', ['--bundle', 'b', '--include', '/nowhere'], /cannot be read from \/nowhere/],
])('doctor --bundle rejects %s before anything is sent', async (_, flags, message) => {
  const { env, fake, HOME } = await customer(json([]));
  const ran = await run(['doctor', '-o', 'json', ...flags.map((flag) => (flag === 'b' ? join(HOME, 'b') : flag))], {
    env,
  });
  expect(ran.code).toBe(2);
  expect(ran.error().message).toMatch(message);
  expect(fake.requests).toEqual([]);
});

test('doctor --bundle rejects a trace over the limit, suggests how to shorten it, and writes nothing', async () => {
  const { env, fake, path } = await customer(json([]));
  const { origin, pathname } = new URL(fake.baseUrl);
  const record = { method: 'GET', origin, path: `${pathname}/spaces/`, status: 200, response_body: [] };
  const trace = write('trace.jsonl', `${JSON.stringify(record)}\n`.repeat(20_001));
  const ran = await run(['doctor', '-o', 'json', '--bundle', path, '--include', trace], { env });
  expect({ ...ran.error(), code: ran.code }).toMatchObject({
    code: 2,
    message: `${trace} is too large.`,
    hint: 'Record only the commands that matter, or use the first lines: head -n 1000 <trace> > part.jsonl',
  });
  expect(existsSync(path)).toBe(false);
  expect(fake.requests).toEqual([]);
});

test('doctor --bundle includes a recorded conversation, which the replay shows under pseudonyms', async () => {
  const it = await service();
  const HOME = it.env.HOME ?? '';
  const env = { ...it.env, PARTNER_STATE: join(HOME, 'state.jsonl') };
  const space = await run(
    [
      'provision',
      '-o',
      'json',
      write(
        'acme.yaml',
        'external_space_id: acme\nspace: { name: Globex }\nagents:\n  - { template_id: tmpl_support, name: Helper }\n',
      ),
    ],
    { env },
  );
  const { space_id, agents } = space.json<{ results: { space_id: string; agents: { agent_id: string }[] }[] }>()
    .results[0] ?? { space_id: '', agents: [] };
  const setup = await run(['chat', 'setup', '-o', 'json', space_id, agents[0]?.agent_id ?? ''], { env });
  const { source_id } = setup.json<{ source_id: string }>();
  const trace = join(HOME, 'trace.jsonl');
  const session = ['--source', source_id, '--session', 'customer-42-lovelace'];
  const sent = await run(['chat', 'send', ...session, 'Where is my parcel?', '--wait'], { env });
  expect(sent.code, sent.stderr).toBe(0);
  const args = ['chat', 'tail', '--no-follow', '--from-start', '-o', 'json'];
  const tail = await run([...args, ...session, '--debug-file', trace], {
    env: { ...env, PARTNER_STATE: join(HOME, 'other.jsonl') },
  });
  expect(tail.code, tail.stderr).toBe(0);
  const path = join(HOME, 'support.ndjson');
  const ran = await run(['doctor', '-q', '--bundle', path, '--include', trace], { env });
  expect(ran.code, ran.stderr).toBe(0);
  const text = readFileSync(path, 'utf8');
  for (const secret of ['parcel', 'lovelace', source_id, space_id, 'Globex', 'Helper', it.token])
    expect(text).not.toContain(secret);
  const history = linesOf(path).find(({ from, path: at }) => from === 'included' && String(at).includes('history'));
  const query = new Map(history?.query as [string, string][]);
  const replayed = await support(path);
  const again = await run(
    [...args, '--source', query.get('source_id') ?? '', '--session', query.get('session_id') ?? ''],
    { env: replayed },
  );
  expect(again.code, again.stderr).toBe(0);
  const roles = (from: Ran) =>
    from.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .map(({ role, text: said, created_at }) => ({ role, length: said.length, created_at }));
  expect(roles(again)).toEqual(roles(tail));
});

test("the replay uses the customer's contract, follows its pages, and rejects requests that were not recorded", async () => {
  const page = (items: unknown, next: string | null) => json({ payload: { rows: items, more: next } });
  const { env, path, fake } = await customer({ 'GET /workspaces': [page([SPACES[0]], 'x')] });
  const respond: Handler = (request, response) => {
    const isSecond = request.query.get('cursor') === 'opaque-Cursor99';
    const more = isSecond ? null : `${fake.baseUrl}/workspaces?cursor=opaque-Cursor99`;
    const body = request.path.startsWith('/v1/workspaces')
      ? { payload: { rows: [SPACES[isSecond ? 1 : 0]], more } }
      : [];
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  };
  fake.respond({ 'GET *': respond });
  for (const [leaf = '', value = ''] of [
    ['spaces.list', 'GET /workspaces'],
    ['spaces.list.items', 'payload.rows'],
    ['spaces.list.next', 'link:payload.more'],
  ])
    expect((await run(['contract', 'set', leaf, value], { env })).code).toBe(0);
  expect((await run(['doctor', '-q', '--bundle', path], { env })).code).toBe(0);
  fake.respond(json({ gone: true }, 410));
  const replayed = await support(path);
  const listed = await run(['spaces', 'list', '-o', 'json'], { env: replayed });
  expect(listed.code, listed.stderr).toBe(0);
  expect(listed.json<unknown[]>()).toHaveLength(2);
  const other = await run(['agents', 'list', 'sp_unheard', '-o', 'json'], { env: replayed });
  expect(other.error()).toMatchObject({
    code: 'not_recorded',
  });
  expect(other.stderr).toContain('no response to GET /automation/spaces/sp_unheard/agents/');
});

test('sandbox run --replay configures the client, and leaves no files behind', async () => {
  const { env, path } = await customer({ 'GET *': forbidden });
  await run(['doctor', '-q', '--bundle', path], { env });
  const out = write('env.json', '');
  const script = `require('node:fs').writeFileSync(process.env.OUT, JSON.stringify(process.env))`;
  const ran = await run(['sandbox', 'run', '-q', '--replay', path, '--', process.execPath, '-e', script], {
    env: { OUT: out, PARTNER_PROFILE: 'own' },
  });
  expect(ran.code, ran.stderr).toBe(0);
  const child = JSON.parse(readFileSync(out, 'utf8'));
  expect(child.PARTNER_BASE_URL).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  expect(child.PARTNER_PROFILE).toBeUndefined();
  expect(existsSync(child.PARTNER_CONFIG_DIR)).toBe(false);
});

const HEAD = '{"kind":"bundle","version":1}';

test.each([
  ['no JSON', `${HEAD}\n{"kind":"exchange", nope}`, ':2:21: invalid JSON'],
  ['a later format', '{"kind":"bundle","version":2}', ':1:18: it has format 2'],
  ['something else', '{"rules":[]}', ':1:1: kind'],
  ['nothing', '', ':1:1: it is empty'],
  [
    'a status that is none',
    `${HEAD}\n{"kind":"exchange","at":null,"method":"GET","path":"/x","query":[],"request_body":null,"status":7,"headers":{},"body":null}`,
    ':2:',
  ],
])('a bundle with %s is rejected with its line and column', async (_, text, where) => {
  const path = write('support.ndjson', text);
  const ran = await run(['sandbox', 'run', '-o', 'json', '--replay', path, '--', 'false']);
  expect(ran.code).toBe(2);
  expect(ran.error()).toMatchObject({
    type: 'invalid_input',
    message: `${path} is not a bundle that can be replayed.`,
  });
  expect(ran.stderr).toContain(where);
});

test('--replay rejects flags that would change the responses', async () => {
  const ran = await run(['sandbox', 'run', '-o', 'json', '--replay', 'x', '--shape', 'camel', '--', 'false']);
  expect({ ...ran.error(), code: ran.code }).toMatchObject({
    code: 2,
    message: expect.stringContaining('--shape has no effect with --replay'),
  });
});
