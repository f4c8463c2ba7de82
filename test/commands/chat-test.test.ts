import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createChat, HISTORY } from '../support/chat.ts';
import { createProfileHome } from '../support/profile-home.ts';
import { fastClock, fasterClock, manualSignals, run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';

/** How the agents of the sandbox reply. */
const SCRIPT = [
  { pattern: 'invoice', replies: [{ text: 'Your invoice has the number 17.', delay_ms: 20 }] },
  {
    pattern: 'twice',
    replies: [
      { text: 'One.', delay_ms: 20 },
      { text: 'Two.', delay_ms: 20 },
    ],
  },
  { pattern: 'silent', replies: [] },
  { pattern: 'late', replies: [{ text: 'Here I am.', delay_ms: 60_000 }] },
];

async function startAgent() {
  const it = await service();
  const chat = await createChat(it);
  expect((await it.admin('PUT', '/script', { rules: SCRIPT })).status).toBe(200);
  /** Writes conversations to a file, and holds them. */
  const hold = (yaml: string, ...more: string[]) =>
    run(['chat', 'test', write('talk.yaml', yaml), '--source', chat.source_id, '-o', 'json', ...more], {
      env: it.env,
      clock: fasterClock(),
    });
  return { it, chat, env: it.env, hold };
}

const talk = (say: string, ...expectations: string[]): string =>
  [
    'turns:',
    `  - say: ${say}`,
    '    within: 20s',
    ...(expectations.length > 0 ? ['    expect:'] : []),
    ...expectations.map((each) => `      - ${each}`),
  ].join('\n');

interface Report {
  readonly results: readonly {
    readonly test: string;
    readonly status: string;
    readonly runs: number;
    readonly passed: number;
    readonly session_id: string;
    readonly turns: readonly {
      readonly reply: string | null;
      readonly failures: readonly { readonly line: number }[];
    }[];
    readonly error: { readonly type: string; readonly message: string } | null;
  }[];
  readonly summary: object;
}

describe('chat test', () => {
  test('A conversation whose replies are as expected passes, in a session of its own', async () => {
    const { hold, chat } = await startAgent();
    const yaml = talk('My invoice is missing.', 'contains: INVOICE', "matches: 'number \\d+'", 'not_contains: sorry');
    const ran = await hold(`${yaml}\n  - say: hello\n    expect: [{ equals: ' You said: hello ' }]`);
    expect(ran.code, ran.stderr).toBe(0);
    const { results, summary } = ran.json<Report>();
    expect(summary).toEqual({ passed: 1, failed: 0, no_reply: 0, error: 0 });
    const [only] = results;
    expect(only).toMatchObject({ test: 'talk', status: 'passed', runs: 1, passed: 1, error: null });
    expect(only?.turns.map(({ reply }) => reply)).toEqual(['Your invoice has the number 17.', 'You said: hello']);
    expect(only?.session_id).toMatch(/^test-[\w-]{36}$/);
    const history = await chat.history({ session_id: only?.session_id ?? '' });
    expect(history.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  });

  test.each([
    ['a wrong word', talk('My invoice is missing.', 'contains: refund'), 'failed', 14, [5]],
    ['two replies for one', talk('Say it twice.'), 'failed', 14, [2]],
    ['no reply', talk('Be silent.', 'contains: x'), 'no_reply', 11, []],
    ['a reply that is late', talk('Be late.', 'contains: Here'), 'no_reply', 11, []],
    ['an expectation that is not filled in', talk('My invoice.', "contains: ''"), 'failed', 14, [5]],
  ] as const)('%s has its outcome, its exit code, and its line', async (_, yaml, status, code, lines) => {
    const { hold } = await startAgent();
    const ran = await hold(yaml);
    expect(ran.code, ran.stderr).toBe(code);
    const [only] = ran.json<Report>().results;
    expect(only).toMatchObject({ status, passed: 0 });
    expect(only?.turns.flatMap(({ failures }) => failures.map(({ line }) => line))).toEqual(lines);
  });

  test('The first turn that fails ends the conversation, and no other is touched', async () => {
    const { hold } = await startAgent();
    const bad = `${talk('My invoice.', 'contains: refund')}\n  - say: And now?`;
    const ran = await hold(`name: good\n${talk('My invoice.', 'contains: invoice')}\n---\nname: bad\n${bad}`);
    expect(ran.code).toBe(14);
    const { results } = ran.json<Report>();
    expect(results.map(({ test: name, status, turns }) => [name, status, turns.length])).toEqual([
      ['good', 'passed', 1],
      ['bad', 'failed', 1],
    ]);
  });

  test('A judge gets the conversation without the token, and its first line is the reason', async () => {
    const { hold, env } = await startAgent();
    const directory = tempDirectory();
    const judge = write(
      'judge.sh',
      `#!/bin/sh\ncat > ${join(directory, 'got.json')}\necho "Too short. $PARTNER_TOKEN"\nexit 1\n`,
    );
    chmodSync(judge, 0o755);
    expect(env.PARTNER_TOKEN).toBeTruthy();
    const ran = await hold(talk('My invoice.', `run: ${judge}`));
    expect(ran.code).toBe(14);
    const got = JSON.parse(readFileSync(join(directory, 'got.json'), 'utf8'));
    expect(got).toMatchObject({
      test: 'talk',
      turns: [{ say: 'My invoice.', replies: ['Your invoice has the number 17.'] }],
    });
    expect(ran.json<Report>().results[0]?.turns[0]?.failures).toEqual([
      { line: 5, expected: `${JSON.stringify(judge)} to accept it`, got: 'Too short.' },
    ]);
  });

  test('A file with mistakes is refused with all of them, and nothing is sent; --schema says what it may have', async () => {
    const { hold, it } = await startAgent();
    const { length: before } = await it.posts();
    const ran = await hold(
      [
        'turns:',
        '  - say: hello',
        '    within: 30',
        '    expect:',
        "      - matches: '('",
        '      - contains: a',
        '        equals: b',
        '      - run: ./missing.sh',
        '  - says: hello',
      ].join('\n'),
    );
    expect(ran.code).toBe(2);
    const places = (ran.error().details as { problems: { line: number }[] }).problems.map(({ line }) => line);
    expect(places).toEqual([3, 5, 6, 8, 9]);
    expect(await it.posts()).toHaveLength(before);
    expect((await run(['chat', 'test', '--schema'])).json()).toMatchObject({ type: 'object', required: ['turns'] });
  });

  test('With manifests, each conversation is held with the agent of every space that is selected; one that a space lacks is named before anything is asked or sent', async () => {
    const { it, env } = await startAgent();
    const fleet = ['acme-001', 'acme-002'].map((id) => manifest(id).replace('"Support" }', '"Support", chat: {} }'));
    expect((await run(['provision', write('fleet.yaml', fleet.join('---\n'))], { env })).code).toBe(0);
    const spaces = write('spaces.yaml', [...fleet, manifest('new-001')].join('---\n'));
    const tests = write('smoke.yaml', talk('My invoice.', 'contains: invoice'));
    const command = ['chat', 'test', tests, '--agent', 'name:Support', '--manifests', spaces, '--repeat', '2'];
    const lacking = 'new-001: No space has the external_space_id "new-001".';
    const { length: before } = await it.posts();

    const planned = await run([...command, '--dry-run', '-o', 'json'], { env });
    expect(planned).toMatchObject({ code: 4, stderr: expect.stringContaining(lacking) });
    expect(planned.json()).toEqual({ conversations: 1, spaces: 3, sessions: 4 });
    const home = createProfileHome();
    home.store('live', it.sandbox.baseUrl, it.token, { protected: true });
    const asked = await run(command, { env: home.env });
    expect(asked.code).toBe(2);
    expect(asked.stderr).toMatch(/new-001.*1 conversation in 3 spaces: 4 sessions\..*Profile "live" is protected/s);
    expect(await run([...command, '--only', 'gamma-*'], { env })).toMatchObject({ code: 2, stdout: '' });
    expect(await it.posts()).toHaveLength(before);

    const shown = ['--query', 'results[].[external_space_id, agent, status]', '-o', 'json'];
    const ran = await run([...command, '--exclude', '*-002', ...shown], { env });
    expect(ran.code, ran.stderr).toBe(4);
    expect(ran.json()).toEqual([
      ['acme-001', 'Support', 'passed'],
      ['new-001', 'Support', 'error'],
    ]);
    const all = await run([...command, '--only', 'acme-*', '-o', 'tsv'], { env });
    expect(all.code, all.stderr).toBe(0);
    expect(all.stdout.split('\n').slice(0, -1)).toHaveLength(2);
  });

  test('Repeats count: four of five are enough where --pass says so, and a failure keeps its transcript', async () => {
    const { hold, it } = await startAgent();
    const yaml = talk('My invoice.', 'contains: invoice');
    await it.faults({ kind: 'status', status: 422, on: 'POST /integrations/api-chat/message/', times: 1, skip: 2 });
    const enough = await hold(yaml, '--repeat', '5', '--pass', '4');
    expect(enough.code, enough.stderr).toBe(0);
    expect(enough.json<Report>().results[0]).toMatchObject({ status: 'passed', runs: 5, passed: 4 });
    const all = await hold(talk('My invoice.', 'contains: refund'), '--repeat', '2');
    expect(all.code).toBe(14);
    expect(all.json<Report>().results[0]).toMatchObject({ status: 'failed', runs: 2, passed: 0 });
    expect(await hold(yaml, '--repeat', '2', '--pass', '3')).toMatchObject({ code: 2 });
  });

  test('An empty balance stops the rest, and wins over a wrong answer, and over repeats that have passed often enough', async () => {
    const { hold, it } = await startAgent();
    const on = 'POST /integrations/api-chat/message/';
    const heldWith = async (expected: string, ...more: string[]) => {
      await it.faults({ kind: 'status', status: 402, on, skip: 1 });
      const named = ['one', 'two'].map((name) => `name: ${name}\n${talk('My invoice.', `contains: ${expected}`)}`);
      const ran = await hold(named.join('\n---\n'), '--concurrency', '1', ...more);
      expect(ran.code).toBe(6);
      return ran.json<Report>();
    };
    const { results, summary } = await heldWith('refund');
    expect(results).toMatchObject([
      { status: 'failed' },
      { status: 'error', error: { message: expect.stringMatching(/402/) } },
    ]);
    expect(summary).toEqual({ passed: 0, failed: 1, no_reply: 0, error: 1 });
    expect((await heldWith('invoice', '--repeat', '3', '--pass', '1')).results).toMatchObject([
      { status: 'error', runs: 2, passed: 1 },
      { status: 'error', runs: 0, passed: 0, error: { message: expect.stringMatching(/^Not held: /) } },
    ]);
  });

  test('A history that fails until the time is over is an error of the service, and no missing reply', async () => {
    const { hold, it } = await startAgent();
    await it.faults({ kind: 'status', status: 503, on: 'GET /integrations/api-chat/history/' });
    const ran = await hold(talk('My invoice.', 'contains: invoice'));
    expect(ran.code, ran.stderr).toBe(8);
    expect(ran.json<Report>().results[0]).toMatchObject({ status: 'error', error: { type: 'service' } });
  });

  test('Ctrl-C reports what is known, and exits with 130', async () => {
    const { chat, env } = await startAgent();
    const signals = manualSignals();
    const named = ['good', 'long', 'never'].map((name, at) => `name: ${name}\n${talk(at === 0 ? 'Hi' : 'Be silent.')}`);
    const yaml = named.join('\n---\n');
    const file = write('talk.yaml', yaml.replaceAll('within: 20s', 'within: 1h'));
    const argv = ['chat', 'test', file, '--source', chat.source_id, '--concurrency', '1', '-o', 'ndjson'];
    const ran = await run(argv, { env, signals, onStdout: () => signals.ctrlC() });
    expect(ran.code, ran.stderr).toBe(130);
    const rows = ran.stdout.trimEnd().split('\n');
    expect(rows.map((line) => JSON.parse(line))).toMatchObject([
      { test: 'good', status: 'passed' },
      { test: 'long', status: 'error', runs: 1 },
      { test: 'never', status: 'error', runs: 0, passed: 0 },
    ]);
  });

  test('A terminal shows each failure once, with the line of its expectation; a pipe has it in the error, too', async () => {
    const { chat, env } = await startAgent();
    const file = write('talk.yaml', `${talk('My invoice.', 'contains: refund')}\n---\nname: other\n${talk('Hello.')}`);
    const argv = ['chat', 'test', file, '--source', chat.source_id];
    const shown = await run([...argv, '--color', 'never'], { env, columns: 120 });
    expect(shown.stdout.match(/talk\.yaml:5: Expected text that contains "refund"/g)).toHaveLength(1);
    expect(shown).toMatchObject({
      code: 14,
      stderr: expect.stringMatching(/\nerror: 1 of 2 conversations failed\.\n$/),
    });
    expect((await run(argv, { env })).stderr).toMatch(/talk\.yaml:5 \(talk\): Expected text that contains "refund"/);
  });

  test.each([
    ['name:Support', [], 'has its agent by name, which needs --space or --manifests'],
    ['name:Support', ['--agent', 'agt_1'], 'has its agent by name, which needs --space or --manifests'],
    [undefined, [], 'names no agent'],
    [undefined, ['--space', 'ext:acme-001'], 'names no agent'],
    ['name:Support', ['--source', 'src_1'], 'names an agent: give --space, not --source'],
    [
      'agt_1',
      ['--source', 'src_1', '--space', 'ext:acme-001'],
      '--source names the agent: leave out --agent and --space',
    ],
  ])(
    'A file with the agent %s and the options %j are refused with what is missing',
    async (agent, options, message) => {
      const { it, env } = await startAgent();
      await it.forget();
      const file = write('talk.yaml', `${agent ? `agent: ${agent}\n` : ''}${talk('Hello.')}`);
      const ran = await run(['chat', 'test', file, '--dry-run', ...options], { env });
      expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
      expect(await it.received()).toEqual([]);
    },
  );

  test('An agent_id in the file needs no space', async () => {
    const { chat, env } = await startAgent();
    const file = write('talk.yaml', `agent: ${chat.agent_id}\n${talk('My invoice.', 'contains: invoice')}`);
    expect(await run(['chat', 'test', file], { env })).toMatchObject({ code: 0 });
  });

  test('JUnit has a suite for each file and a case for each conversation, with failures told from errors', async () => {
    const { it, chat, env } = await startAgent();
    const directory = tempDirectory();
    write('a.yaml', `name: good & <fine>\n${talk('My invoice.', 'contains: invoice')}`, directory);
    write('b.yaml', `name: bad\n${talk('My invoice.', 'contains: refund')}`, directory);
    const report = join(directory, 'report.xml');
    const argv = ['chat', 'test', directory, '--source', chat.source_id, '--junit', report];
    expect((await run(argv, { env })).code).toBe(14);
    const xml = readFileSync(report, 'utf8');
    expect(xml).toMatch(
      /^<\?xml version="1.0" encoding="UTF-8"\?>\n<testsuites name="partnerctl chat test" tests="2" failures="1" errors="0"/,
    );
    expect(xml.match(/<testsuite name="[^"]*[ab]\.yaml" tests="1"/g)).toHaveLength(2);
    // The schema of Jenkins' xUnit plugin has no such attribute there.
    expect(xml).not.toMatch(/<testsuites [^>]*skipped=/);
    expect(xml).toContain('<testcase name="good &amp; &lt;fine&gt;"');
    expect(xml).toMatch(
      /<failure message="[^"]*refund[^"]*" type="unexpected_reply">[^<]*user: My invoice\.\nagent: Your invoice/,
    );
    await it.faults({ kind: 'status', status: 500, on: 'POST /integrations/api-chat/message/' });
    expect((await run(argv, { env, clock: fastClock() })).code).toBe(8);
    expect(readFileSync(report, 'utf8')).toMatch(/errors="2".*<error message="/s);
    const nowhere = await run([...argv.slice(0, -1), join(directory, 'no', 'report.xml')], { env });
    expect(nowhere).toMatchObject({ code: 1 });
    expect(nowhere.stderr).toContain('Nothing was sent.');
  });

  test('GitHub shows a failure at the line of its expectation, and the summary has what was said', async () => {
    const { chat, env } = await startAgent();
    const file = write('talk.yaml', talk('My invoice.', 'contains: invoice', 'contains: refund'));
    const summary = join(tempDirectory(), 'summary.md');
    const github = { ...env, GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary };
    const ran = await run(['chat', 'test', file, '--source', chat.source_id], { env: github });
    expect(ran.code).toBe(14);
    expect(ran.stderr).toMatch(/::error file=[^,]*talk\.yaml,line=6,/);
    expect(readFileSync(summary, 'utf8')).toContain('agent: Your invoice has the number 17.');
  });

  test('`chat record` writes a session as a test, which is valid, and fails until it is filled in', async () => {
    const { it, chat, env } = await startAgent();
    await chat.send('My invoice is missing.', { session_id: 'ticket-1' });
    await it.admin('PATCH', '/clock', { advance: '1m' });
    const record = ['chat', 'record', '--source', chat.source_id, '--session', 'ticket-1'];
    const ran = await run(record, { env });
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stdout).toBe(
      `turns:
  - say: My invoice is missing.
    expect:
      # equals: "Your invoice has the number 17."
      - contains: ""
`,
    );
    const file = write('ticket.yaml', ran.stdout);
    expect(await run(['chat', 'test', file, '--check'], { env: { HOME: tempDirectory() } })).toMatchObject({ code: 0 });
    expect((await run(['chat', 'test', file, '--source', chat.source_id], { env })).code).toBe(14);
    expect((await run([...record.slice(0, -1), 'empty'], { env })).code).toBe(4);
    // It needs no state.
    expect((await run(record, { env: { ...env, PARTNER_STATE: 'ftp://nowhere' } })).code).toBe(0);
    await it.faults({ kind: 'status', status: 429, retry_after: 12, on: `GET ${HISTORY}`, times: 1 });
    const limited = await run(record, { env, clock: fastClock() });
    expect(limited).toMatchObject({ code: 0, stderr: expect.stringContaining('Continuing in 12s.') });
    // A record is no tail: the next one with --resume begins where it would have.
    const resume = ['chat', 'tail', '--source', chat.source_id, '--session', 'ticket-1', '--resume', '--no-follow'];
    expect((await run([...resume, '--query', 'role'], { env })).stdout).toBe('user\nassistant\n');
  });
});
