import { expect, test } from 'vitest';
import { InterruptedError } from '../../src/errors.ts';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock, manualSignals, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';

/* Services that the specification allows, too, because it leaves their responses open. */

/** A service that responds 200 with what `bodyFor` returns for `METHOD path`, with the path below `/v1/automation/`. */
async function answering(
  bodyFor: (line: string) => unknown,
): Promise<{ env: Record<string, string>; lines: string[] }> {
  const lines: string[] = [];
  const { baseUrl } = await startFakeService(({ method, path }, response) => {
    const line = `${method} ${path.replace('/v1/automation/', '')}`;
    lines.push(line);
    sendJson(response, bodyFor(line));
  });
  return { env: { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test' }, lines };
}

const POST = 'POST agent-templates/provision-space/';

test('Ctrl-C before the agents are looked up still reports the space as created', async () => {
  const signals = manualSignals();
  const { env } = await answering((line) => {
    if (line !== POST) return [];
    signals.abort(new InterruptedError('Interrupted.'));
    return { space_id: 'spc_7' };
  });
  const path = write('a.yaml', `${manifest('acme')}---\n${manifest('other')}`);
  const ran = await run(['provision', path, '-o', 'json', '--concurrency', '1'], { env, signals });
  expect(ran.code).toBe(130);
  expect(ran.json()).toMatchObject({
    results: [{ space_id: 'spc_7', status: 'created' }, { status: 'skipped' }],
    summary: { created: 1, failed: 0, skipped: 1 },
  });
});

test.each<[string, unknown, unknown, string]>([
  [
    'in the response nor in the list',
    [{ ref: 'a1', name: 'Support' }],
    [{ ref: 'a1', name: 'Support' }],
    'agent.id ref',
  ],
  ['in the response, and the list is of unknown shape', [], { rows: 1 }, 'agents.list.items'],
])('a space whose agents have no readable id %s fails with the name of the leaf', async (_, agents, list, fix) => {
  const { env, lines } = await answering((line) => {
    if (line === POST) return { space_id: 's1', agents };
    return line === 'GET spaces/' ? [] : list;
  });
  const ran = await run(['provision', write('a.yaml', manifest('acme')), '-o', 'json'], { env, random: tinyRandom });
  expect(ran.code).toBe(8);
  expect(ran.json()).toMatchObject({ results: [{ space_id: 's1', status: 'failed', agents: [{ agent_id: null }] }] });
  expect(ran.error().message).toBe('The space is provisioned as s1, but the id of the agent "Support" cannot be read.');
  expect(ran.error().hint).toContain(`partnerctl contract set ${fix}`);
  expect(lines.filter((line) => line === POST)).toHaveLength(1);
});

test('a space that the response names, with other agents only, is not provisioned again, and the error names them', async () => {
  const { env, lines } = await answering((line) => {
    if (line === POST) return { space_id: 's1', agents: [] };
    return line === 'GET spaces/' ? [] : [{ id: 'a2', name: 'Sales' }];
  });
  const settings = { env: { ...env, HOME: tempDirectory() }, random: tinyRandom, clock: fastClock() };
  for (let runs = 1; runs <= 2; runs += 1) {
    const ran = await run(['provision', write('a.yaml', manifest('acme')), '-o', 'json'], settings);
    expect(ran.code).toBe(9);
    if (runs === 1) expect(ran.error().details).toMatchObject({ why: expect.stringContaining('a2 Sales') });
    expect(ran.error().hint).toContain('partnerctl agents list s1');
  }
  expect(lines.filter((line) => line === POST)).toHaveLength(1);
});

test('a list without external ids cannot be matched: nothing is posted until the contract allows it', async () => {
  const { env, lines } = await answering((line) =>
    line === POST ? { space: { id: 'x' }, agents: [{ id: 1, name: 'Support' }] } : [{ space_id: 'x', name: 'Acme' }],
  );
  const settings = { env: { ...env, HOME: tempDirectory() } };
  const provision = ['provision', write('a.yaml', manifest('acme')), '-o', 'table'];
  const refused = await run(provision, settings);
  expect(refused).toMatchObject({ code: 8, stderr: expect.stringContaining('contract set spaces.list none') });
  expect(lines).toEqual(['GET spaces/']);
  expect((await run(['contract', 'set', 'spaces.list', 'none'], settings)).code).toBe(0);
  expect(await run(provision, settings)).toMatchObject({ code: 0, stderr: expect.stringMatching(/^note: /) });
  expect(lines).toEqual(['GET spaces/', POST]);
});

test('a POST is not repeated if its response has an unknown shape', async () => {
  const { env, lines } = await answering((line) => (line === POST ? ['what is this'] : []));
  const args = ['provision', write('a.yaml', manifest('acme')), '-o', 'json', '--settle', '10ms'];
  const ran = await run(args, { env, random: tinyRandom });
  expect(ran.code).toBe(9);
  expect(ran.error().type).toBe('outcome_unknown');
  expect(lines.filter((line) => line === POST)).toHaveLength(1);
});

test('the ids in a response that no id of the new job can be read from are shown, because they have no other trace', async () => {
  const task = {
    uid: 't-1',
    secret_id: 's-1',
    ids: ['x'],
    note: 'Some text.',
    owner: { id: 7 },
    paid: true,
    grid: '4x4',
  };
  const service = await startFakeService({
    'GET *': json([]),
    'POST *': json({ ok: true, task, client_token_id: 'c-1', secret: { id: 's-2' }, session: { sid: 's-3' } }, 201),
  });
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'a-token-of-a-test', HOME: tempDirectory() };
  const job = ['--agent', 'a1', '--name', 'daily', '--instructions', 'Sum up.', '--schedule', '0 9 * * *'];
  const ran = await run(['cron', 'create', ...job, '-o', 'json'], { env, random: tinyRandom, clock: fastClock() });
  expect(ran.code).toBe(9);
  expect(ran.stderr).toContain('"ids":{"task.uid":"t-1","task.owner.id":"7"}');
  expect(ran.error().message).toContain('may have been created');
  expect(ran.stderr).not.toMatch(/s-[123]|c-1|Some text|4x4/);
});

test('a list of unknown shape fails and shows its keys', async () => {
  const { env } = await answering(() => ({ rows: 3, total: 3 }));
  const ran = await run(['spaces', 'list', '-o', 'json'], { env });
  expect(ran).toMatchObject({ code: 8, stdout: '' });
  expect(JSON.stringify(ran.error())).toMatch(/rows.*total/);
});

test('a history that responds 204 after its last message is read to its end', async () => {
  const { baseUrl } = await startFakeService(
    ({ query }, response) => {
      if (query.has('after_message_id')) response.writeHead(204).end();
      else sendJson(response, [{ message_id: 'm1', role: 'user', text: 'Hi' }]);
    },
    { heedsSession: true },
  );
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test' };
  const tail = ['chat', 'tail', '--source', 'src_1', '--session', 's1', '--no-follow', '-o', 'json'];
  const ran = await run([...tail, '--from-start'], { env, random: tinyRandom });
  expect(ran.stderr).toBe('');
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('"m1"') });
  expect(await run([...tail, '--after', 'm1'], { env, random: tinyRandom })).toMatchObject({ code: 0, stderr: '' });
});

test.each([[''], ['Let me'], [null]])('a reply that the agent still writes is waited for: %j', async (start) => {
  let polls = 0;
  const { baseUrl } = await startFakeService(
    ({ method, query }, response) => {
      if (method === 'POST') return sendJson(response, { message_id: 'm1', created: true }, 202);
      polls += 1;
      const done = { message_id: 'm2', role: 'assistant', text: 'Let me see: 42.', status: 'completed' };
      const reply = polls < 3 ? { ...done, text: start, status: 'in_progress' } : done;
      const question = { message_id: 'm1', role: 'user', text: 'Hi', status: 'completed' };
      const messages = { '': [question, reply], m1: [reply], m2: [] }[query.get('after_message_id') ?? ''];
      sendJson(response, messages);
    },
    { heedsSession: true },
  );
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test' };
  const send = ['chat', 'send', '--source', 'src_1', '--session', 's1', 'Hi', '--wait', '--timeout', '20s'];
  const ran = await run(send, { env, random: tinyRandom });
  expect(ran).toMatchObject({ code: 0, stdout: 'Let me see: 42.\n', stderr: '' });
});

test.each([
  ['oldest first', false],
  ['newest first', true],
])(
  'a reply that the agent still writes is waited for in a history of several pages, too: %s',
  async (_, isDescending) => {
    let polls = 0;
    const { baseUrl } = await startFakeService(
      ({ query }, response) => {
        const page = Number(query.get('page') ?? 1);
        if (page === 1) polls += 1;
        const at = (second: number) => new Date(1_790_000_000_000 + second * 1000).toISOString();
        const isDone = polls > 5;
        const text = isDone ? 'Let me see: 42.' : 'Let me';
        const messages = [
          ...[1, 2, 3, 4].map((n) => ({ message_id: `m${n}`, role: 'user', text: `${n}`, created_at: at(n) })),
          {
            message_id: 'm5',
            role: 'assistant',
            text,
            status: isDone ? 'completed' : 'in_progress',
            created_at: at(5),
          },
        ];
        const after = messages.findIndex(({ message_id }) => message_id === query.get('after_message_id'));
        const rest = isDescending ? messages.slice(after + 1).toReversed() : messages.slice(after + 1);
        sendJson(response, rest.slice(page * 2 - 2, page * 2));
      },
      { heedsSession: true },
    );
    const env = { HOME: tempDirectory(), PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test' };
    expect((await run(['contract', 'set', 'messages.history.next', 'page:page'], { env })).code).toBe(0);
    const tail = [
      'chat',
      'tail',
      '--source',
      'src_1',
      '--session',
      's1',
      '--from-start',
      '--until-reply',
      '-o',
      'json',
    ];
    const ran = await run([...tail, '--timeout', '20s', '--query', 'text'], { env, random: tinyRandom });
    expect(ran).toMatchObject({ code: 0, stdout: '"1"\n"2"\n"3"\n"4"\n"Let me see: 42."\n' });
  },
);

test('a history whose last counted page has one message is read to its end', async () => {
  const messages = [1, 2, 3].map((n) => ({
    message_id: `m${n}`,
    role: 'user',
    text: `${n}`,
    created_at: new Date(1_790_000_000_000 + n * 1000).toISOString(),
  }));
  const { baseUrl } = await startFakeService(
    ({ query }, response) => {
      const page = Number(query.get('page') ?? 1);
      const after = messages.findIndex(({ message_id }) => message_id === query.get('after_message_id'));
      sendJson(response, messages.slice(after + 1).slice(page * 2 - 2, page * 2));
    },
    { heedsSession: true },
  );
  const env = { HOME: tempDirectory(), PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test' };
  expect((await run(['contract', 'set', 'messages.history.next', 'page:page'], { env })).code).toBe(0);
  const tail = ['chat', 'tail', '--source', 'src_1', '--session', 's1', '--from-start', '--no-follow', '-o', 'json'];
  const ran = await run([...tail, '--query', 'text'], { env, random: tinyRandom });
  expect(ran).toMatchObject({ code: 0, stdout: '"1"\n"2"\n"3"\n', stderr: '' });
});

test('--resume shows the whole text of a reply that an earlier --no-follow read unfinished', async () => {
  let isDone = false;
  const { baseUrl } = await startFakeService(
    ({ query }, response) => {
      const unfinished = { message_id: 'm2', role: 'assistant', text: 'Let me', status: 'in_progress' };
      const reply = isDone ? { ...unfinished, text: 'Let me see: 42.', status: 'completed' } : unfinished;
      const question = { message_id: 'm1', role: 'user', text: 'Hi' };
      sendJson(response, { '': [question, reply], m1: [reply], m2: [] }[query.get('after_message_id') ?? '']);
    },
    { heedsSession: true },
  );
  const env = { HOME: tempDirectory(), PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test' };
  const tail = ['chat', 'tail', '--source', 'src_1', '--session', 's1', '--no-follow', '-o', 'json'];
  const texts = async (...args: string[]) =>
    (await run([...tail, ...args, '--query', 'text'], { env, random: tinyRandom })).stdout;
  expect(await texts()).toBe('"Hi"\n"Let me"\n');
  isDone = true;
  expect(await texts('--resume')).toBe('"Let me see: 42."\n');
  expect(await texts('--resume')).toBe('');
});

test('a message to read after that no longer exists is an error, although other parameters lead to an empty history', async () => {
  const { baseUrl } = await startFakeService(({ query }, response) => {
    const messages = query.get('session_id') === 's1' ? [{ message_id: 'm9', role: 'user', text: 'Hi' }] : [];
    const isGone = (query.get('after_message_id') ?? 'm9') !== 'm9';
    if (isGone) sendJson(response, { after_message_id: ['There is no such message.'] }, 400);
    else sendJson(response, { count: messages.length, next: null, results: messages });
  });
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test' };
  const tail = ['chat', 'tail', '--source', 'src_1', '--session', 's1', '--no-follow', '-o', 'json'];
  const ran = await run([...tail, '--after', 'm5'], { env, random: tinyRandom });
  expect(ran).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('There is no such message.') });
  expect(ran.error().hint).toMatch(/^Check --after: /);
});

test.each(["Required part 'file' is not present.", "Required request part 'file' is not present."])(
  'the error for a text that the service wants as a file says how to send one: %s',
  async (detail) => {
    const { baseUrl } = await startFakeService((_, response) => {
      sendJson(response, { title: 'Bad Request', detail }, 400);
    });
    const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test' };
    const upload = ['upload', '--as', 'document', '--name', 'faq.txt', '--text', 'Hi', '-o', 'json'];
    const ran = await run(upload, { env, random: tinyRandom });
    expect(ran.code).toBe(1);
    expect(ran.error().hint).toContain('partnerctl upload - --as document --filename');
    expect(ran.error().hint).not.toContain('contract set');
  },
);

test('the error for a list of jobs that only exists for one agent at a time says how to go on without a list', async () => {
  const { baseUrl } = await startFakeService(({ method }, response) => {
    if (method === 'POST') sendJson(response, { cron_job_id: 'c1' }, 201);
    else sendJson(response, { code: 'missing_parameter', message: 'agent_id is required' }, 400);
  });
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test', HOME: tempDirectory() };
  const create = [
    'cron',
    'create',
    '--agent',
    'a1',
    '--name',
    'Daily',
    '--instructions',
    'Sum up.',
    '--schedule',
    '0 9 * * *',
  ];
  const refused = await run(create, { env, random: tinyRandom });
  expect(refused.code).toBe(1);
  const [command = ''] = /contract set cron_jobs\.list none/.exec(refused.stderr) ?? [];
  expect((await run(command.split(' '), { env })).code).toBe(0);
  expect(await run(create, { env, random: tinyRandom })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^c1\t/),
  });
});

test('the error for a 404 that quotes the path of the agents says that the path may differ', async () => {
  const { baseUrl } = await startFakeService(({ path }, response) => {
    sendJson(response, { detail: `There is nothing at ${path}.` }, 404);
  });
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'a-token-of-a-test' };
  const { code, stderr } = await run(['agents', 'list', 's1'], { env });
  expect(code).toBe(4);
  expect(stderr).toContain('The service does not know the space "s1" (404).');
  expect(stderr).toContain('partnerctl contract set paths.trailing_slash never');
});

test('a list that ends before its stated total is rejected with the name of the total', async () => {
  const messages = [{ message_id: 'm1', session_id: 's1', role: 'user', text: 'Hi' }];
  const { env } = await answering(() => ({ messages, total: 7, next_page: null }));
  const ran = await run(['chat', 'tail', '--source', 'src_1', '--session', 's1', '--from-start', '--no-follow'], {
    env,
    random: tinyRandom,
  });
  expect(ran.code).toBe(8);
  expect(ran.stderr).toContain('the service announces more messages with total: 7, and 1 read, but sends none');
});
