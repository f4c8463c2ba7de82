import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { json, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';
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

const SPACES = [
  { space_id: 'sp_8f3a2b77c1', name: 'Globex Corporation', contact: 'ada@globex.example', seats: 12345 },
  { space_id: 'sp_77aa90b1dd', name: 'Initech', contact: 'bob@initech.example', seats: 7 },
];

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

test('doctor --bundle includes a recorded conversation under pseudonyms', async () => {
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
});
