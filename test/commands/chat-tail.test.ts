import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Chat, createChat, HISTORY, parseLines } from '../support/chat.ts';
import { json, startFakeService } from '../support/fake-service.ts';
import { historyServer, idsFrom, nextPath, tailUntil } from '../support/history-server.ts';
import { fastClock, manualSignals, run, tinyRandom } from '../support/run.ts';
import { type Service, service as startService } from '../support/service.ts';
import { runUntilPolled } from './polls.ts';

async function inject(service: Service, { source_id }: Chat, more: Record<string, unknown> = {}): Promise<void> {
  const body = { source_id, session_id: 's1', role: 'assistant', text: 'm{n}', ...more };
  expect((await service.admin('POST', '/messages', body)).status).toBe(201);
}

async function startChat(count = 0) {
  const service = await startService();
  const chat = await createChat(service);
  if (count > 0) await inject(service, chat, { count });
  const of = ['chat', 'tail', '--source', chat.source_id, '--session', 's1'];
  return { service, chat, of, env: service.env };
}

const textsOf = (stdout: string): string[] => parseLines(stdout).map(({ text }) => text);
const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `m${from + index}`);

describe('a tail starts', () => {
  test('with the last ten messages, the number in --tail, the first one, or after a given message', async () => {
    const { env, of, chat } = await startChat(150);
    const { message_id = '' } = (await chat.history())[119] ?? {};
    for (const [flags, first] of [
      [[], 141],
      [['--tail', '3'], 148],
      [['--from-start'], 1],
      [['--after', message_id], 121],
    ] as const) {
      const { stdout } = await run([...of, ...flags, '--no-follow', '-o', 'json'], { env });
      expect(textsOf(stdout)).toEqual(numbered(first, 150));
    }
  });

  test('where the last tail ended, wherever that one started', async () => {
    const { service, env, of, chat } = await startChat(5);
    const resume = [...of, '--no-follow', '--resume', '-o', 'json'];
    const first = await run(resume, { env });
    expect(textsOf(first.stdout)).toEqual(numbered(1, 5));
    await inject(service, chat, { text: 'new' });
    // The place stays where it is if nothing is shown.
    expect((await run([...of, '--no-follow', '--tail', '0', '-o', 'json'], { env })).stdout).toBe('');
    expect(textsOf((await run(resume, { env })).stdout)).toEqual(['new']);
    expect(await run(resume, { env })).toMatchObject({ code: 0, stdout: '' });
    const elsewhere = await run(resume, { env: { ...env, PARTNER_STATE: join(env.HOME ?? '', 'x') } });
    expect(textsOf(elsewhere.stdout)).toEqual([...numbered(1, 5), 'new']);
  });
});

describe('what a tail shows', () => {
  test('in JSON: the exact message', async () => {
    const { service, env, of, chat } = await startChat();
    const text = 'a\u001b[31m\r\n\u202e "x"';
    await inject(service, chat, { text });
    const ran = await run([...of, '--no-follow', '-o', 'json'], { env });
    const [raw] = await chat.history();
    const { message_id, source_id, session_id, role, created_at } = raw ?? {};
    expect(ran.json()).toEqual({ message_id, session_id, source_id, role, text, created_at, raw });
    expect(ran.stdout).not.toMatch(/[\u001b\u202e]/);
  });

  test('on a terminal: author and text, sanitized, and the local time with --timestamps; in a pipe, with the time and the ids', async () => {
    const { service, env, of, chat } = await startChat();
    await inject(service, chat, { text: 'one\nuser: not me\u001b[2J\rx\u202e\n' });
    const show = (args: readonly string[], columns?: number) =>
      run([...of, ...args, '--no-follow', '--color', 'never'], { env, ...(columns && { columns }) });
    const [said] = await chat.history();
    expect((await show([], 80)).stdout).toBe('assistant: one\n  user: not me\\x1b[2J\\rx\\u202e\n');
    vi.stubEnv('TZ', 'Asia/Tokyo');
    onTestFinished(() => void vi.unstubAllEnvs());
    const local = new Date(Date.parse(said?.created_at ?? '') + 9 * 3_600_000).toISOString().slice(0, 19);
    const timed = await show(['--timestamps', '-o', 'table']);
    expect(timed.stdout).toContain(`${local.replace('T', ' ')} assistant: one\n`);
    expect((await show([])).stdout.split('\t')).toEqual([
      said?.created_at,
      's1',
      said?.message_id,
      'assistant',
      'one\\nuser: not me\\x1b[2J\\rx\\u202e\\n\n',
    ]);
  });
});

test('a tail says that the session does not exist yet or is empty, unless the 404 may mean a different path', async () => {
  const fake = await startFakeService(json({ error: { code: 'session_not_found' } }, 404));
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'test-token' };
  const of = ['chat', 'tail', '--source', 'src', '--session', 's1', '--no-follow'];
  const ran = await run(of, { env });
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  expect(ran.stderr.match(/does not know session s1 yet/g)).toHaveLength(1);
  expect((await run([...of, '-q'], { env })).stderr).toBe('');
  fake.respond(json({ results: [] }));
  expect((await run(of, { env })).stderr).toBe('note: session s1 has no messages yet.\n');
  expect((await run([...of, '--resume'], { env })).stderr).toBe('');
  fake.respond(json({ message: 'Not found.' }, 404));
  const other = await run(of, { env });
  expect(other).toMatchObject({ code: 4, stderr: expect.stringContaining('partnerctl contract set messages.history') });
});

test('a tail of several sessions names the session of each message, and remembers its position in each', async () => {
  const { service, env, of, chat } = await startChat(1);
  await inject(service, chat, { session_id: 's2', text: 'for s2' });
  const both = [...of, '--session', 's2', '--no-follow'];
  const table = await run([...both, '--session', 's1', '-o', 'table'], { env });
  expect(table.stdout.split('\n').toSorted()).toEqual(['', '[s1] assistant: m1', '[s2] assistant: for s2']);
  const names = ['s1', 's2', 'anna', 'ben'];
  for (const session_id of ['anna', 'ben']) await inject(service, chat, { session_id });
  const sessions = names.flatMap((name) => ['--session', name]);
  const colored = await run([...both, ...sessions, '-o', 'table', '--color', 'always'], { env });
  expect(new Set(names.map((name) => colored.stdout.split(`[${name}] `)[0]?.slice(-5))).size).toBe(4);
  await inject(service, chat, { session_id: 's2', text: 'more' });
  expect(textsOf((await run([...both, '--resume', '-o', 'json'], { env })).stdout)).toEqual(['more']);
  await service.faults({ kind: 'status', status: 403, on: `GET ${HISTORY}`, skip: 4 });
  expect((await run([...of, '--session', 's2'], { env, clock: fastClock() })).code).toBe(3);
});

describe('a tail exits', () => {
  test('with 0 at Ctrl-C, and with 143 at SIGTERM', async () => {
    for (const exitCode of [130, 143] as const) {
      const { service, env, of } = await startChat(1);
      const signals = manualSignals();
      const running = run(of, { env, signals });
      await expect.poll(async () => (await service.received()).some(({ path }) => path.includes(HISTORY))).toBe(true);
      signals.end(exitCode);
      expect((await running).code).toBe(exitCode === 130 ? 0 : exitCode);
    }
  });

  test('with 0 at its time limit, with the code of the last failure if nothing was read, and with 8 after --max-outage', async () => {
    const { service, env, of } = await startChat(1);
    expect(await runUntilPolled(service, [...of, '-o', 'json'])).toMatchObject({ code: 0, stderr: '' });
    await service.faults({ kind: 'status', status: 429, on: `GET ${HISTORY}` });
    expect((await runUntilPolled(service, of, { random: tinyRandom })).code).toBe(7);
    await service.faults({ kind: 'status', status: 503, on: `GET ${HISTORY}` });
    const ran = await run([...of, '--max-outage', '5s'], { env, clock: fastClock() });
    expect(ran).toMatchObject({ code: 8, stderr: expect.stringContaining('out of reach') });
  });

  test('with --no-follow, after an outage of 30 s at a further page, and at once when the service asks for more', async () => {
    const server = await historyServer();
    server.add('s', 6);
    const failWith = (status: number, headers: Record<string, string>) =>
      server.behave(({ json, url }, wellBehaved) => {
        const at = Number(url.searchParams.get('at') ?? 0);
        const page = wellBehaved().slice(at, at + 2);
        if (page[0]?.message_id === 's-4') json(status, {}, headers);
        else json(200, { results: page, next: nextPath(url, 'at', at + 2) });
      });
    const read = async () => {
      const clock = fastClock();
      const ran = await tailUntil(server, ['--from-start', '--no-follow'], () => false, { clock });
      return { ...ran, error: ran.error(), clock };
    };
    failWith(429, { 'retry-after': '10' });
    const broken = await read();
    expect(broken).toMatchObject({ code: 7, ids: idsFrom(0, 3) });
    expect(broken.error.message).toBe('The service has been out of reach for 30s.');
    expect(broken.stderr.match(/out of reach/g)).toHaveLength(1);
    failWith(429, { 'retry-after': '40' });
    const limited = await read();
    expect(limited).toMatchObject({ code: 7, ids: idsFrom(0, 3) });
    expect(limited.error.message).toMatch(/ asks for a pause of (39|40)s;/);
    expect(limited.error.hint).toMatch(/^Run the command again after [^,]+Z\.$/);
    expect(limited.clock.slept).toEqual([]);
  });
});
