import { expect, test } from 'vitest';
import { HISTORY } from '../support/chat.ts';
import { type FakeService, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { list, object, openApi, operation, query } from '../support/openapi-documents.ts';
import { fastClock, type Ran, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';

/*
 * A first page never passes for the list, another session's message never for this one's, a field that the service sent is never
 * blank. What cannot be read is refused by name, with the command that settles it: each test runs that command.
 */

const SPACES = 'GET /automation/spaces/';

const LIST = ['spaces', 'list'];
const TAIL = ['chat', 'tail', '--source', 'src', '--session', 'anna', '--no-follow', '--from-start'];
const JOB = ['cron', 'create', '--agent=a1', '--name=Daily', '--instructions=Sum up.', '--schedule=0 9 * * *'];

/** Runs commands on one machine, against one service. */
function machineFor({ baseUrl }: FakeService): (argv: readonly string[]) => Promise<Ran> {
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'token-of-the-test', HOME: tempDirectory() };
  return (argv) => run(argv, { env, clock: fastClock(), random: tinyRandom });
}

interface Expected {
  /** The operation and what came, as the error names them. */
  readonly names: readonly string[];
  /** The command as the error shows it. */
  readonly command: string;
  /** What the operator puts in place of `<…>` in the command. */
  readonly filledIn?: string;
  /** The flags that answer the question of the command. */
  readonly answer?: readonly string[];
  readonly code?: number;
}

/** The values of the service: an error shows keys. */
const VALUE = /Acme|secret of/;

/** Expects that a command is refused, and follows the error. @returns the command when it is run again */
async function settle(service: FakeService, argv: readonly string[], expected: Expected): Promise<Ran> {
  const { names, command, filledIn = '', answer = [], code = 8 } = expected;
  const on = machineFor(service);
  const refused = await on(argv);
  expect(refused.code, refused.stderr).toBe(code);
  for (const name of names) expect(refused.stderr).toContain(name);
  expect(refused.stdout + refused.stderr).not.toMatch(VALUE);
  expect(refused.stderr).toContain(command);
  const words = [...command.replace(/<.+>/, filledIn).matchAll(/'([^']*)'|(\S+)/g)];
  const pasted = await on([...words.map(([, quoted, word]) => quoted ?? word ?? '').slice(1), ...answer]);
  expect(pasted.code, pasted.stderr).toBe(0);
  return await on(argv);
}

/** A service that lists spaces by `page`, and says of a page what `describe` returns. */
function servePages(count: number, size: number, describe: (items: unknown[], hasMore: boolean) => unknown) {
  const all = Array.from({ length: count }, (_, index) => ({ space_id: `s${index + 1}`, name: `Acme ${index + 1}` }));
  return startFakeService(({ query }, response) => {
    const end = Number(query.get('page') ?? 1) * size;
    sendJson(response, describe(all.slice(end - size, end), end < count));
  });
}

const message = (number: number, more: Record<string, unknown> = {}) => ({
  message_id: `m${number}`,
  session_id: 'anna',
  role: 'assistant',
  text: `secret of Anna ${number}`,
  created_at: `2026-01-01T00:00:0${number}Z`,
  ...more,
});

test('A page that says with has_more that others follow, and not how, never passes for the list', async () => {
  const service = await servePages(5, 2, (items, has_more) => ({ items, has_more }));
  const ran = await settle(service, LIST, {
    names: [SPACES, 'has_more'],
    command: "partnerctl contract set spaces.list.next 'page:<parameter>'",
    filledIn: 'page',
  });
  expect(ran.stdout.match(/Acme/g)).toHaveLength(5);
});

test.each<[string, unknown, string, string, string]>([
  [
    'A second list beside the first',
    { mine: [{ space_id: 's1', name: 'Acme' }], shared: [{ space_id: 's2' }] },
    'mine, shared',
    'spaces.list.items mine',
    's1',
  ],
  [
    'An id under another name',
    [{ space_number: 17, name: 'Acme' }],
    'space_number (number), name (string)',
    'space.id space_number',
    '17',
  ],
  [
    'An id that another one contradicts',
    [{ id: 17, uuid: 'u-17', name: 'Acme' }],
    'id and uuid',
    'space.id uuid',
    'u-17',
  ],
  ['A name under another one', [{ space_id: 's1', caption: 'Acme' }], 'caption', 'space.name caption', 's1'],
  [
    'A name elsewhere',
    [{ space_id: 's1', attributes: { caption: 'Acme' } }],
    'attributes.caption',
    'space.name attributes.caption',
    's1',
  ],
])('%s is refused by name, never blank, and read after the command', async (_, body, name, setting, id) => {
  const service = await startFakeService({ [SPACES]: json(body) });
  const ran = await settle(service, LIST, {
    names: ['spaces.list', name],
    command: `partnerctl contract set ${setting}`,
  });
  expect(ran.stdout).toBe(`Acme\t\t${id}\t\t\n`);
});

test('Two spaces with the external id of a manifest are refused, and none of them is provisioned', async () => {
  const spaces = ['s1', 's2'].map((space_id) => ({ space_id, external_space_id: 'acme', name: 'Acme' }));
  const service = await startFakeService({ [SPACES]: json(spaces), 'GET *': json([]) });
  const refused = await machineFor(service)(['provision', write('acme.yaml', manifest('acme'))]);
  expect(refused.code).toBe(8);
  expect(refused.stderr).toContain('several spaces with the external_space_id "acme"');
  expect(service.posts()).toEqual([]);
});

test('A message that names another session is never shown, and the messages of this one are after the command', async () => {
  const other = message(2, { session_id: 'ben', text: 'secret of Ben' });
  const service = await startFakeService({ [`GET ${HISTORY}`]: json([message(1), other, message(3)]) });
  const ran = await settle(service, TAIL, {
    names: [`GET ${HISTORY}`, 'session_id differs'],
    command: 'partnerctl contract set messages.history.session_id none',
  });
  expect(ran.stdout.match(/secret of \w+/g)).toEqual(['secret of Anna', 'secret of Anna']);
});

test.each([
  ['text', 'message_body', 'secret of Anna 1'],
  ['author', 'participant_kind', 'assistant'],
])('The %s of a message under another name is refused by that name, and never blank', async (field, name, value) => {
  const { text, role, ...rest } = message(1);
  const sent = { ...rest, ...(field === 'text' ? { role } : { text }), [name]: value };
  const service = await startFakeService({ [`GET ${HISTORY}`]: json([sent]) });
  const ran = await settle(service, TAIL, {
    names: [`GET ${HISTORY}`, name],
    command: `partnerctl contract set message.${field} ${name}`,
  });
  expect(ran.stdout).toContain(value);
});

test('A history that takes its parameters under other names is read after the import of the document that the error asks for', async () => {
  const history = operation(list(object('message_id', 'session_id', 'role', 'text', 'created_at')), {
    parameters: query('source', 'conversation', 'after'),
  });
  const service = await startFakeService({
    'GET /openapi.json': json(openApi({ '/integrations/api-chat/history/': { get: history } })),
    [`GET ${HISTORY}`]: (request, response) =>
      request.query.get('conversation') === 'anna'
        ? sendJson(response, [message(1)])
        : sendJson(response, { detail: 'The parameter conversation is required.' }, 400),
  });
  const ran = await settle(service, TAIL, {
    names: ['The parameter conversation is required.'],
    command: `partnerctl contract import ${service.baseUrl}`,
    answer: ['--yes'],
    code: 1,
  });
  expect(ran.stdout).toContain('secret of Anna 1');
});

test('A history that takes no GET is read with POST after the command', async () => {
  const service = await startFakeService((request, response) =>
    request.body.includes('"session_id":"anna"')
      ? sendJson(response, [message(1)])
      : sendJson(response, { detail: 'GET is not allowed.' }, 405),
  );
  const inBody = ['source_id', 'session_id', 'after_message_id'].map((name) => `messages.history.${name} body:${name}`);
  const ran = await settle(service, TAIL, {
    names: ['GET is not allowed.'],
    command: `partnerctl contract set messages.history 'POST /integrations/api-chat/history/' ${inBody.join(' ')}`,
    code: 1,
  });
  expect(ran.stdout).toContain('secret of Anna');
});

test('A path whose slash the service redirects away is not followed, and found without it after the command', async () => {
  const jobs = '/automation/partner-cron-jobs';
  const service = await startFakeService({
    [`GET ${jobs}/`]: json({}, 301, { location: `/v1${jobs}` }),
    [`GET ${jobs}`]: json([]),
    [`POST ${jobs}`]: json({ id: 'c1' }, 201),
  });
  const ran = await settle(service, JOB, {
    names: [`redirects to /v1${jobs} (301)`],
    command: 'partnerctl contract set paths.trailing_slash never',
  });
  expect(ran.stdout).toContain('c1');
});

test.each([
  ['is redirected to another origin', 301, 'http://127.0.0.1:9/v1/automation/spaces', 8],
  ['is redirected to itself', 301, '/v1/automation/spaces/', 8],
  ['does not exist', 404, '', 4],
])('A path that %s is asked for once, and the one of the command is read', async (_, status, location, code) => {
  const service = await startFakeService({
    [SPACES]: json({ message: 'Cannot GET it.' }, status, { location }),
    'GET /workspaces': json([{ space_id: 's1', name: 'Acme' }]),
  });
  const ran = await settle(service, LIST, {
    names: [status === 301 ? `redirects to ${location} (301)` : 'Cannot GET it.'],
    command: "partnerctl contract set spaces.list '<METHOD> <path>'",
    filledIn: 'GET /workspaces',
    code,
  });
  expect(ran.stdout).toBe('Acme\t\ts1\t\t\n');
  expect(service.requests).toHaveLength(2);
});

test('A source whose id is under another name is refused by that name', async () => {
  const service = await startFakeService({ 'POST *': json({ source_number: 7, name: 'Acme' }, 201) });
  const ran = await settle(service, ['chat', 'setup', 's1', 'a1'], {
    names: ['POST /automation/spaces/s1/agents/a1/api-chat/', 'source_number (number)'],
    command: 'partnerctl contract set source.id source_number',
  });
  expect(ran.stdout).toMatch(/^SOURCE ID: 7$/m);
});

test('A form field that a service calls otherwise is named by the error, and the file is sent after the command', async () => {
  const missing = { detail: [{ type: 'missing', loc: ['body', 'upload'], msg: 'Field required' }] };
  const service = await startFakeService((request, response) =>
    request.body.includes('name="upload"') ? sendJson(response, { id: 'f-1' }, 201) : sendJson(response, missing, 422),
  );
  const ran = await settle(service, ['upload', write('hours.md', 'Nine to five.')], {
    names: ['body.upload: Field required'],
    command: 'partnerctl contract set file_attachments.create.file form:upload',
    code: 1,
  });
  expect(ran.stdout).toMatch(/^f-1\tuploaded\t/);
});

test.each([
  ['{"status":400,"error":"Bad Request"}', "'form:<name>'"],
  ['<!DOCTYPE html><title>The server returned a 400 error</title>', "'form:<name>'"],
  ['{"status":400,"error":"param is missing or the value is empty: document"}', 'form:document'],
])(
  'A form without the field that Rails requires is refused with the command that names it: %s',
  async (body, value) => {
    const service = await startFakeService((_, response) => response.writeHead(400).end(body));
    const ran = await machineFor(service)(['upload', '--as', 'document', write('hours.md', 'Nine to five.')]);
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`partnerctl contract set documents.create.file ${value}`),
    });
  },
);

test('A job whose id cannot be read is not said to be created: the error has what may be its id, and the command finds it', async () => {
  const jobs: unknown[] = [];
  const service = await startFakeService({
    'GET *': (_, response) => sendJson(response, jobs),
    'POST *': (request, response) => {
      jobs.push({ ...request.json<Record<string, unknown>>(), job_number: 'j-17' });
      sendJson(response, jobs[0], 201);
    },
  });
  const on = machineFor(service);
  const unknown = await on(JOB);
  expect(unknown.code).toBe(9);
  expect(unknown.stderr).toContain('POST /automation/partner-cron-jobs/');
  expect(unknown.stderr).toContain('job_number "j-17"');
  expect(unknown.stderr).toContain('partnerctl contract set cron_job.id job_number');
  await on(['contract', 'set', 'cron_job.id', 'job_number']);
  expect(await on(['cron', 'reconcile'])).toMatchObject({ code: 0, stdout: expect.stringContaining('j-17') });
  expect(service.posts()).toHaveLength(1);
});

test('A Location header alone is no id of a job: the outcome is unknown, and the error shows it', async () => {
  const location = '/v1/automation/partner-cron-jobs/c7';
  const service = await startFakeService({
    'GET *': json([]),
    'POST *': (_, response) => response.writeHead(201, { location }).end(),
  });
  expect(await machineFor(service)(JOB)).toMatchObject({ code: 9, stderr: expect.stringContaining(location) });
  expect(service.posts()).toHaveLength(1);
});

test('What a service sent is printed as it is in JSON: numbers of any size, and objects', async () => {
  const sent = '[{"space_id":12345678901234567890,"name":"Acme","owner":{"$oid":"65f0c1a2"},"quota":9007199254740993}]';
  const service = await startFakeService((_, response) => response.end(sent));
  const ran = await machineFor(service)([...LIST, '-o', 'json']);
  expect(ran.stdout.replace(/\s/g, '')).toBe(sent);
});
