import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { json, type Script, startFakeService } from '../support/fake-service.ts';
import { type Ran, run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';

const TOKEN = 'secret-token-4711';
const ORIGIN = 'http://127.0.0.1:9';

interface Learned {
  readonly written: boolean;
  readonly changes: readonly {
    readonly leaf: string;
    readonly old: string;
    readonly new: string;
    readonly status: string;
    readonly evidence: string;
    readonly lines: readonly number[];
  }[];
  readonly ambiguous: readonly { readonly leaf: string; readonly candidates: readonly { readonly value: string }[] }[];
  readonly confirmed: readonly string[];
  readonly questions: readonly { readonly leaf: string | null; readonly message: string }[];
}

function home(baseUrl = `${ORIGIN}/v1`) {
  const HOME = tempDirectory();
  const env = { HOME, PARTNER_CONFIG_DIR: join(HOME, 'config'), PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: TOKEN };
  const contracts = join(env.PARTNER_CONFIG_DIR, 'contracts');
  return {
    env,
    trace: join(HOME, 'trace.jsonl'),
    run: (...argv: string[]): Promise<Ran> => run(argv, { env }),
    learn: (trace: string, ...flags: string[]): Promise<Ran> => run(['contract', 'learn', trace, ...flags], { env }),
    stored: (): string[] => (existsSync(contracts) ? readdirSync(contracts) : []),
    show: async (leaf: string): Promise<{ value: string; source: string } | undefined> => {
      const shown = await run(['contract', 'show', leaf, '-o', 'json'], { env });
      return shown.json<{ leaf: string; value: string; source: string }[]>().find((each) => each.leaf === leaf);
    },
  };
}

interface Recorded {
  readonly method?: string;
  readonly origin?: string;
  readonly path: string;
  readonly query?: Record<string, string>;
  readonly request_body?: unknown;
  readonly request_form?: readonly string[];
  readonly status?: number | null;
  readonly response_headers?: Record<string, string>;
  readonly request_headers?: Record<string, string>;
  readonly response_body?: unknown;
}

/** Writes records as --debug-file does, and returns the path of the file. */
function record(...records: readonly Recorded[]): string {
  const lines = records.map((each) =>
    JSON.stringify({
      at: '2026-01-01T00:00:00.000Z',
      method: 'GET',
      origin: ORIGIN,
      query: {},
      request_headers: { authorization: '[redacted]' },
      request_body: null,
      status: 200,
      response_headers: {},
      response_body: null,
      error: null,
      ms: 1,
      ...each,
    }),
  );
  return write('trace.jsonl', `${lines.join('\n')}\n`);
}

async function learned(...records: readonly Recorded[]): Promise<Learned> {
  const ran = await home().learn(record(...records), '-o', 'json');
  expect(ran.code, ran.stderr).toBe(0);
  return ran.json<Learned>();
}

async function learnedValue(leaf: string, ...records: readonly Recorded[]): Promise<string | undefined> {
  return (await learned(...records)).changes.find((change) => change.leaf === leaf)?.new;
}

const SPACES = '/v1/automation/spaces/';

describe('contract learn after a failed command', () => {
  /** Runs a command that fails, records it, learns, and returns the run after that. */
  async function learnFrom(script: Script, ...argv: string[]): Promise<{ ran: Ran; learned: Ran }> {
    const fake = await startFakeService(script);
    const { run: runHere, learn, trace } = home(fake.baseUrl);
    const refused = await runHere(...argv, '--debug-file', trace);
    expect(refused.code, refused.stderr).toBe(8);
    const learnedNow = await learn(trace, '--yes', '-o', 'json');
    expect(learnedNow.code, learnedNow.stderr).toBe(0);
    return { learned: learnedNow, ran: await runHere(...argv, '-o', 'json') };
  }

  test('makes a list in an unknown place readable', async () => {
    const body = { overview: { inner: { everything: [{ id: 's1', name: 'Acme' }] } } };
    const { ran } = await learnFrom(json(body), 'spaces', 'list');
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.json()).toEqual([{ id: 's1', name: 'Acme' }]);
  });

  test('makes ids and names in unknown fields readable', async () => {
    const spaces = [
      { ref_no: 'a-1', caption: 'Acme' },
      { ref_no: 'a-2', caption: 'Wayne' },
    ];
    const script = {
      'GET /automation/spaces/': json(spaces),
      'GET /automation/spaces/{id}/agents/': json([{ id: 'g1', name: 'Support' }]),
    };
    const { ran, learned: result } = await learnFrom(script, 'agents', 'list', 'name:Acme');
    expect(result.json<Learned>().changes.map(({ leaf }) => leaf)).toEqual(['space.id', 'space.name']);
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.json()).toEqual([{ id: 'g1', name: 'Support' }]);
  });
});

describe('contract learn', () => {
  test('shows each change with its lines and types, and writes nothing without --yes', async () => {
    const { learn, stored } = home();
    const trace = record({
      path: SPACES,
      response_body: { deep: { er: { rows: [{ id: 's1', name: 'Secret Name' }] } } },
    });
    const ran = await learn(trace, '-o', 'json');
    expect(ran.code).toBe(0);
    const { changes, written } = ran.json<Learned>();
    expect(written).toBe(false);
    expect(changes).toEqual([
      expect.objectContaining({
        leaf: 'spaces.list.items',
        old: 'auto',
        new: 'deep.er.rows',
        status: 'change',
        lines: [1],
      }),
    ]);
    expect(ran.stdout + ran.stderr).not.toContain('Secret Name');
    expect(ran.stderr).toContain('Nothing was written. Add --yes to write 1 value.');
    expect(stored()).toEqual([]);
  });

  test('writes with --yes, with the source "observed"', async () => {
    const { learn, show } = home();
    const trace = record({ path: SPACES, response_body: { deep: { er: { rows: [{ id: 's1' }] } } } });
    const ran = await learn(trace, '--yes');
    expect(ran.stderr).toContain('Wrote 1 value. All observed values: partnerctl contract show --source observed');
    expect(await show('spaces.list.items')).toMatchObject({ value: 'deep.er.rows', source: 'observed' });
  });
});

describe('learning from a trace', () => {
  const page = (items: string[], more: object): object => ({ results: items.map((id) => ({ id, name: id })), ...more });

  test.each([
    ['a page number', {}, { 'pagination[page]': '2' }, { meta: { page: 1, pageCount: 2 } }, 'page:pagination[page]'],
    ['a token', {}, { resume_at: 'tok-2' }, { next_token: 'tok-2' }, 'token:next_token:resume_at'],
    ['an offset', {}, { first: '2' }, { total: 4 }, 'offset:first'],
    ['the last id', {}, { behind: 's2' }, { has_more: true }, 'after:behind'],
    ['a link', {}, { p: '2' }, { links: { next: `${ORIGIN}${SPACES}?p=2` } }, 'link:links.next'],
  ])('finds how the next page is requested: %s', async (_, query, nextQuery, more, expected) => {
    const value = await learnedValue(
      'spaces.list.next',
      { path: SPACES, query, response_body: page(['s1', 's2'], more) },
      { path: SPACES, query: nextQuery, response_body: page(['s3', 's4'], {}) },
    );
    expect(value).toBe(expected);
  });

  test('leaves it open how a next page with the same items is requested', async () => {
    const first = page(['s1', 's2'], { total: 4 });
    const { changes, questions } = await learned(
      { path: SPACES, response_body: first },
      { path: SPACES, query: { page: '2' }, response_body: first },
    );
    expect(changes).toEqual([]);
    expect(questions).toEqual([{ leaf: 'spaces.list.next', message: expect.stringContaining('total') }]);
  });

  test('names the command that settles each open value', async () => {
    const ran = await home().learn(record({ path: SPACES, response_body: page(['s1', 's2'], { total: 4 }) }));
    expect(ran.stderr).toMatch(
      /open: .*\. If you know it, run: partnerctl contract set spaces\.list\.next 'page:<parameter>'/,
    );
  });

  test('ignores a link to another origin', async () => {
    const { changes } = await learned(
      { path: SPACES, response_body: page(['s1'], { next: `https://evil.example${SPACES}?x=2&y=1` }) },
      { path: SPACES, query: { x: '2', y: '1' }, response_body: page(['s2'], {}) },
    );
    expect(changes).toEqual([]);
  });

  test('treats a list that two clients page in two ways as ambiguous, and does not write it', async () => {
    const { learn, stored } = home();
    const trace = record(
      { path: SPACES, response_body: page(['s1', 's2'], { has_more: true }) },
      { path: SPACES, query: { behind: 's2' }, response_body: page(['s3', 's4'], {}) },
      { path: SPACES, query: { size: '2' }, response_body: page(['s1', 's2'], { has_more: true }) },
      { path: SPACES, query: { size: '2', skip: '2' }, response_body: page(['s3', 's4'], {}) },
    );
    const ran = await learn(trace, '--yes', '-o', 'json');
    const { changes, ambiguous } = ran.json<Learned>();
    expect(changes).toEqual([]);
    expect(ambiguous.map(({ leaf }) => leaf)).toEqual(['spaces.list.next']);
    expect(stored()).toEqual([]);
  });

  test('finds operations and parameters under other names, with --accept where they contradict the specification', async () => {
    const { learn, show } = home();
    const job = { id: 'j1', agentRef: 'a1', title: 'daily' };
    const trace = record(
      { path: '/v1/workspaces', response_body: [{ id: 's1', name: 'Acme' }] },
      { path: '/v1/workspaces/s1/assistants', response_body: [{ id: 'a1', name: 'Support' }] },
      {
        method: 'POST',
        path: '/v1/messages',
        request_body: { channel_id: 'c1', conversation_id: 's', content: 'hi', client_message_id: 'x' },
        response_body: { id: 'm1', created: true },
      },
      {
        path: '/v1/messages',
        query: { channel_id: 'c1', conversation_id: 's' },
        response_body: [{ id: 'm1', text: 'hi', role: 'user' }],
      },
      {
        method: 'POST',
        path: '/v1/schedules',
        request_body: {
          agent: 'a1',
          title: 'daily',
          prompt: 'Sum',
          cron: { minute: '0', hour: '9', weekday: '1', tz: 'UTC' },
        },
        response_body: job,
      },
      { path: '/v1/schedules', response_body: { schedules: [job] } },
    );
    const refused = await learn(trace, '--yes');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('of the trace contradict the specification. Nothing was written.');
    expect((await learn(trace, '--yes', '--accept')).code).toBe(0);
    const values = async (...leaves: string[]) => Promise.all(leaves.map(async (leaf) => (await show(leaf))?.value));
    expect(await values('spaces.list', 'agents.list', 'messages.send', 'messages.history', 'cron_jobs.list')).toEqual([
      'GET /workspaces',
      'GET /workspaces/{space_id}/assistants',
      'POST /messages',
      'GET /messages',
      'GET /schedules',
    ]);
    expect(await values('messages.send.text', 'messages.history.session_id', 'cron_jobs.create.minute')).toEqual([
      'body:content',
      'query:conversation_id',
      'body:cron.minute',
    ]);
  });

  test('learns nothing about the fields of listed resources from the response to a write', async () => {
    const space = { space_id: 's1', external_space_id: 'acme', name: 'Acme' };
    const { changes, ambiguous } = await learned(
      {
        method: 'POST',
        path: '/v1/automation/agent-templates/provision-space/',
        request_body: { data: { external_space_id: 'acme', space: { name: 'Acme' } } },
        response_body: { data: { space, agents: [] } },
      },
      { path: SPACES, response_body: { data: [space] } },
    );
    expect(ambiguous).toEqual([]);
    expect(changes.map(({ leaf, new: value }) => [leaf, value])).toEqual([
      ['spaces.provision.external_space_id', 'body:data.external_space_id'],
      ['spaces.provision.name', 'body:data.space.name'],
    ]);
  });

  test('does not mistake another path whose response is no list for that of a list', async () => {
    const { changes } = await learned({ path: '/v1/workspaces', response_body: { id: 's1', plan: 'free' } });
    expect(changes).toEqual([]);
  });

  test('finds the field of a file in a form', async () => {
    const upload = { method: 'POST', path: '/v1/automation/documents/', response_body: { id: 'd1' } };
    expect(await learnedValue('documents.create.file', { ...upload, request_form: ['upload'] })).toBe('form:upload');
    expect(await learnedValue('documents.create.file', { ...upload, request_form: ['files[]'] })).toBe('form:files[]');
  });

  test('finds the roles of messages: the sender of the request is the user, and the other one is the agent', async () => {
    const { changes } = await learned(
      {
        method: 'POST',
        path: '/v1/integrations/api-chat/message/',
        request_body: { source_id: 'c', session_id: 's', text: 'hi', external_message_id: 'x' },
        response_body: { message_id: 'm1', created: true },
      },
      {
        path: '/v1/integrations/api-chat/history/',
        query: { source_id: 'c', session_id: 's' },
        response_body: [
          { message_id: 'm1', text: 'hi', role: 'asker' },
          { message_id: 'm2', text: 'hello', role: 'helper' },
        ],
      },
    );
    expect(changes.map(({ leaf, new: value }) => [leaf, value.split(', ').at(-1)])).toEqual([
      ['message.author.agent', 'helper'],
      ['message.author.user', 'asker'],
    ]);
  });

  test('learns the trailing slash from a redirect that was followed', async () => {
    const bare = SPACES.replace(/\/$/, '');
    const value = await learnedValue(
      'paths.trailing_slash',
      { path: SPACES, status: 301, response_headers: { location: bare } },
      { path: bare, response_body: [{ id: 's1' }] },
    );
    expect(value).toBe('never');
  });

  test('learns no parameters from a history with messages of another session', async () => {
    const { changes, confirmed } = await learned({
      path: '/v1/integrations/api-chat/history/',
      query: { source: 'c', conversation: 's' },
      response_body: [{ id: 'm1', text: 'hi', role: 'user', session_id: 'other' }],
    });
    expect(changes).toEqual([]);
    expect(confirmed).not.toContain('messages.history.session_id');
  });

  test('changes nothing if the client reads everything already', async () => {
    const { changes, confirmed } = await learned({ path: SPACES, response_body: [{ space_id: 's1', name: 'Acme' }] });
    expect(changes).toEqual([]);
    expect(confirmed).toEqual(['spaces.list']);
  });

  test('treats several places that may be the list as ambiguous', async () => {
    const { ambiguous } = await learned({
      path: SPACES,
      response_body: { a: { b: { one: [{ id: 1 }], two: [{ id: 2 }] } } },
    });
    expect(ambiguous).toEqual([
      {
        leaf: 'spaces.list.items',
        candidates: [expect.objectContaining({ value: 'a.b.one' }), expect.objectContaining({ value: 'a.b.two' })],
      },
    ]);
  });
});

describe('a trace that cannot be used changes nothing', () => {
  const good = JSON.stringify({
    method: 'GET',
    origin: ORIGIN,
    path: SPACES,
    status: 200,
    response_body: { a: { b: { c: [{ id: 1 }] } } },
  });
  const deep = `{"method":"GET","origin":"${ORIGIN}","path":"${SPACES}","status":200,"response_body":${'['.repeat(5000)}${']'.repeat(5000)}}`;

  test.each<[string, string | Uint8Array, RegExp]>([
    ['empty', '', /It is empty/],
    ['blank lines', '\n\n\n', /It is empty/],
    ['no JSON', `${good}\n{"method": GET}\n`, /trace\.jsonl:2:12: invalid JSON/],
    ['half a line', `${good}\n${good.slice(0, 40)}`, /trace\.jsonl:2:41: invalid JSON/],
    ['not objects', '[1, 2]\n', /trace\.jsonl:1:1: it is not an object/],
    ['other JSON', '{"openapi":"3.1.0"}\n', /trace\.jsonl:1:1: it has no method, origin, and path/],
    ['binary garbage', new Uint8Array([0, 255, 254, 13, 200]), /trace\.jsonl:1:1: it is not UTF-8 text/],
    ['nested deeply', deep, /trace\.jsonl:1:1: the record is nested deeper than 200 levels/],
    [
      'another service',
      good.replaceAll(ORIGIN, 'https://other.example'),
      /recorded against https:\/\/other\.example, not/,
    ],
    ['nothing answered', good.replace('"status":200', '"status":null'), /no request below the base URL/],
    ['outside of the base URL', good.replace('/v1/', '/internal/'), /no request below the base URL/],
  ])('%s', async (_, content, message) => {
    const { learn, stored, trace } = home();
    writeFileSync(trace, content);
    const ran = await learn(trace, '--yes', '--accept');
    expect(ran.stderr).toMatch(message);
    expect(ran.code).toBe(2);
    expect(stored()).toEqual([]);
  });

  test('a line that is too long', async () => {
    const { learn, stored, trace } = home();
    writeFileSync(trace, `"${'x'.repeat(17 * 1024 * 1024)}"`);
    const ran = await learn(trace, '--yes');
    expect(ran).toMatchObject({ code: 2 });
    expect(ran.stderr).toContain('longer than 16 MiB');
    expect(stored()).toEqual([]);
  });

  test('a file that does not exist', async () => {
    const ran = await home().learn('/nowhere/trace.jsonl');
    expect(ran).toMatchObject({ code: 2 });
    expect(ran.stderr).toContain('there is no such file');
  });

  test.each([
    ['prototype pollution', '__proto__'],
    ['terminal escapes', '\u001b[2J\u001b]0;x\u0007rows'],
    ['invisible characters', 'ro\u202ews'],
    ['separators of leaves', 'a,b|c'],
  ])('keys with %s', async (_, key) => {
    const { learn, stored, trace } = home();
    const item = `{"id": 1, ${JSON.stringify(key)}: 2}`;
    const body = `{"x": {"y": {${JSON.stringify(key)}: [${item}]}}}`;
    const line = good.replace('"response_body":{"a":{"b":{"c":[{"id":1}]}}}', `"response_body":${body}`);
    expect(line).toContain(body);
    writeFileSync(trace, line);
    const ran = await learn(trace, '--yes');
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stdout + ran.stderr).not.toMatch(/[\u001b\u0007\u202e]/);
    expect(key === 'a,b|c' ? [] : stored()).toEqual([]);
  });

  test('a token in a trace is never shown, and causes a warning', async () => {
    const { learn } = home();
    const trace = record(
      {
        path: SPACES,
        request_headers: { authorization: 'Bearer other-token-0815' },
        response_body: { a: { b: { c: [{ id: 1, 'other-token-0815': 1 }] } } },
      },
      { path: SPACES, response_body: { a: { b: { c: [{ id: 1, [TOKEN]: 1 }] } } } },
    );
    const ran = await learn(trace, '-o', 'json');
    expect(ran.stderr).toContain('The trace contains a token (line 1 and 1 more)');
    expect(ran.stdout + ran.stderr).not.toMatch(/0815|4711/);
  });
});

describe('the service that a trace belongs to', () => {
  test('may be at another URL with --origin', async () => {
    const { learn } = home();
    const trace = record({
      origin: 'https://staging.example',
      path: SPACES,
      response_body: { a: { b: { c: [{ id: 1 }] } } },
    });
    const ran = await learn(trace, '--origin', 'https://staging.example', '-o', 'json');
    expect(ran.json<Learned>().changes.map(({ leaf }) => leaf)).toEqual(['spaces.list.items']);
  });

  test('excludes requests to other origins, which are reported', async () => {
    const { learn } = home();
    const trace = record(
      { path: SPACES, response_body: [{ id: 1 }] },
      { origin: 'https://docs.example', path: SPACES, response_body: { a: { b: { c: [{ id: 1 }] } } } },
    );
    const ran = await learn(trace, '-o', 'json');
    expect(ran.json<Learned>().changes).toEqual([]);
    expect(ran.stderr).toContain('skipped: 1 requests to https://docs.example');
  });

  test('gets the learned value instead of an imported one, but keeps an override', async () => {
    const { learn, show, run: runHere } = home();
    const schema = { type: 'array', items: { type: 'object', properties: { id: {} } } };
    const document = {
      openapi: '3.1.0',
      paths: {
        [SPACES.slice(3)]: {
          get: {
            responses: {
              200: { content: { 'application/json': { schema: { type: 'object', properties: { rows: schema } } } } },
            },
          },
        },
      },
    };
    await runHere('contract', 'import', write('openapi.json', JSON.stringify(document)), '--yes');
    expect(await show('spaces.list.items')).toMatchObject({ value: 'rows', source: 'imported' });
    const trace = record({ path: SPACES, response_body: { lines: [{ id: 1 }] } });
    await learn(trace, '--yes');
    expect(await show('spaces.list.items')).toMatchObject({ value: 'lines', source: 'observed' });
    await runHere('contract', 'set', 'spaces.list.items', 'other');
    const { changes } = (
      await learn(record({ path: SPACES, response_body: { more: [{ id: 1 }] } }), '-o', 'json')
    ).json<Learned>();
    expect(changes).toEqual([expect.objectContaining({ leaf: 'spaces.list.items', status: 'overridden' })]);
  });
});
