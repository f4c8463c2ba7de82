import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createChat, HISTORY, MESSAGE } from '../support/chat.ts';
import { run } from '../support/run.ts';
import { service } from '../support/service.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

async function startChat(agent: Record<string, unknown> = {}) {
  const it = await service();
  const chat = await createChat(it, 'session_workflow', agent);
  const [space] = await it.spaces();
  const named = ['--agent', 'name:Support', '--space', `ext:${space?.external_space_id}`];
  /** The paths of the requests of a command, in order. */
  const pathsOf = async (args: readonly string[]): Promise<readonly string[]> => {
    await it.forget();
    const ran = await run(args, { env: it.env });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    return (await it.received()).map(({ method, path }) => `${method} ${path.replace(/^.*\/v1/, '')}`);
  };
  return {
    it,
    chat,
    named,
    pathsOf,
    env: it.env,
    state: join(it.env.HOME ?? '', '.local/state/partnerctl/state.jsonl'),
  };
}

const SPACES = 'GET /automation/spaces/';
const POST = `POST ${MESSAGE}`;
const GET = `GET ${HISTORY}`;

/** Records in the state that the agent has another source, which does not exist at the service. */
async function rememberStale({ state, chat }: Awaited<ReturnType<typeof startChat>>): Promise<void> {
  const { encodeRecord } = await import('../../src/state-old/record.ts');
  const { appendFileSync } = await import('node:fs');
  const line =
    readFileSync(state, 'utf8')
      .split('\n')
      .find((each) => each.includes('"chat.source"')) ?? '';
  const { v, sum, ...record } = JSON.parse(line);
  expect(record.source_id).toBe(chat.source_id);
  appendFileSync(state, `\n${encodeRecord({ ...record, id: 'stale', source_id: 'src_gone' })}\n`);
}

describe('a chat selected by --agent', () => {
  test('needs no lookup after chat setup, and repeating the setup adds no record', async () => {
    const { named, env, pathsOf, state, chat } = await startChat();
    const setup = ['chat', 'setup', String(named[3]), 'name:Support'];
    await run(setup, { env });
    const content = readFileSync(state, 'utf8');
    expect(content).not.toContain('Support');
    await run(setup, { env });
    expect(readFileSync(state, 'utf8')).toBe(content);
    expect(await pathsOf(['chat', 'send', ...named, '--session', 's1', 'Hello!'])).toEqual([POST]);
    expect(await pathsOf(['chat', 'send', '--agent', chat.agent_id, '--session', 's1', 'Hi'])).toEqual([POST]);
  });

  test('looks the source up once, and needs no further request the second time', async () => {
    const { pathsOf, named, chat } = await startChat();
    const send = ['chat', 'send', ...named, '--session', 's1', '-o', 'json', 'Hello!'];
    const agents = `${SPACES}${chat.space_id}/agents/`;
    expect(await pathsOf(send)).toEqual([SPACES, agents, POST]);
    expect(await pathsOf(send)).toEqual([POST]);
    expect(
      (await pathsOf(['chat', 'tail', ...named, '--session', 's1', '--no-follow'])).every((path) => path === GET),
    ).toBe(true);
    const { message_id = '' } = (await chat.history())[0] ?? {};
    const wait = ['chat', 'wait', ...named, '--session', 's1', '--after', message_id];
    expect(new Set(await pathsOf(wait))).toEqual(new Set([GET]));
    expect(await pathsOf(['chat', 'send', '--agent', chat.agent_id, '--session', 's1', 'Hi'])).toEqual([POST]);
  });

  test('accepts an agent_id without a space, and searches every space for it', async () => {
    const { pathsOf, chat } = await startChat();
    const send = ['chat', 'send', '--agent', chat.agent_id, '--session', 's1', 'Hello!'];
    expect(await pathsOf(send)).toEqual([SPACES, `${SPACES}${chat.space_id}/agents/`, POST]);
    expect(await pathsOf(send)).toEqual([POST]);
  });

  test('is looked up again after a day, because the name may belong to another agent by then', async () => {
    const { named, env, it } = await startChat();
    const send = ['chat', 'send', ...named, '--session', 's1', 'Hello!'];
    await run(send, { env });
    await it.forget();
    await run(send, {
      env,
      clock: { ...(await import('../../src/clock.ts')).systemClock, now: () => Date.now() + DAY_MS },
    });
    expect((await it.received()).filter(({ method }) => method === 'GET')).toHaveLength(2);
  });

  test('stores ids in the state, and no names', async () => {
    const { named, env, state, chat } = await startChat();
    await run(['chat', 'send', ...named, '--session', 's1', 'Hello!'], { env });
    const text = readFileSync(state, 'utf8');
    expect(text).toContain(chat.agent_id);
    expect(text).not.toContain('Support');
  });

  test('exits with 4 for an agent without a chat, creates none, and names the command that does', async () => {
    const { it, named, env } = await startChat({ auto_create_api_chat: false });
    await it.forget();
    const send = ['chat', 'send', ...named, '--session', 's1'];
    const ran = await run([...send, 'Hello!', '-o', 'json'], { env });
    expect(ran.code).toBe(4);
    expect(ran.error().hint).toContain(`partnerctl chat setup ${named[3]} name:Support`);
    expect(await it.posts()).toEqual([]);
    expect((await run(['chat', 'setup', String(named[3]), 'name:Support'], { env })).code).toBe(0);
    expect((await run([...send, 'Hello!'], { env })).code).toBe(0);
  });

  test('exits with 4 for an unknown agent, and lists the candidates', async () => {
    const { it, named, env, chat } = await startChat();
    await it.forget();
    const other = ['--agent', 'name:Suport', '--space', String(named[3])];
    const ran = await run(['chat', 'send', ...other, '--session', 's1', 'Hello!'], { env });
    expect(ran).toMatchObject({ code: 4, stderr: expect.stringContaining(chat.agent_id) });
    const id = await run(['chat', 'send', '--agent', 'agt_none', '--session', 's1', 'Hello!'], { env });
    expect(id).toMatchObject({ code: 4, stderr: expect.stringContaining('agt_none') });
    expect(await it.posts()).toEqual([]);
  });

  test.each([
    ['both a source and an agent', ['--source', 'src_1', '--agent', 'agt_1']],
    ['an agent name without a space', ['--agent', 'name:Support']],
    ['a space without an agent', ['--source', 'src_1', '--space', 'spc_1']],
    ['an external id of an agent', ['--agent', 'ext:acme']],
    ['an empty agent', ['--agent', '']],
    ['an empty space', ['--agent', 'name:Support', '--space', '']],
    ['a name that is empty', ['--agent', 'name:', '--space', 'spc_1']],
    ['no source and no agent', []],
  ])('rejects %s for each command, and sends nothing', async (_, flags) => {
    const { it, env } = await startChat();
    await it.forget();
    const more = { send: ['text'], wait: ['--after', 'm'], tail: [], open: [] };
    for (const [name, args] of Object.entries(more)) {
      expect((await run(['chat', name, ...flags, '--session', 's1', ...args], { env })).code).toBe(2);
    }
    expect(await it.received()).toEqual([]);
  });
});

describe('a recorded source that no longer exists at the service', () => {
  test('is replaced by chat setup, so that no lookup is needed', async () => {
    const talk = await startChat();
    const { named, env, pathsOf } = talk;
    const send = ['chat', 'send', ...named, '--session', 's1', 'Hello!'];
    await run(send, { env });
    await rememberStale(talk);
    const setup = await run(['chat', 'setup', String(named[3]), 'name:Support'], { env });
    expect(setup).toMatchObject({ code: 0, stderr: '' });
    expect(await pathsOf(send)).toEqual([POST]);
    expect(await pathsOf(['chat', 'send', '--agent', talk.chat.agent_id, '--session', 's1', 'Hi'])).toEqual([POST]);
  });

  test('is not replaced if it turns out to be right: the 404 is reported', async () => {
    const talk = await startChat();
    const { it, named, env } = talk;
    const send = ['chat', 'send', ...named, '--session', 's1', 'Hello!'];
    await run(send, { env });
    await it.faults({ kind: 'status', status: 404, on: POST });
    expect((await run(send, { env })).code).toBe(4);
    await it.faults();
    expect((await run(send, { env })).code).toBe(0);
  });

  test('is looked up again once by a send, which sends the message to the source found', async () => {
    const talk = await startChat();
    const { it, named, env, chat, pathsOf } = talk;
    const send = ['chat', 'send', ...named, '--session', 's1', '-o', 'json', 'Hello!'];
    await run(send, { env });
    await rememberStale(talk);
    await it.forget();
    const ran = await run(send, { env });
    expect(ran.json()).toMatchObject({ source_id: chat.source_id, created: true });
    const received = await it.received();
    expect(received.map(({ method, path, status }) => `${method} ${path.replace(/^.*\/v1/, '')} ${status}`)).toEqual([
      `${POST} 404`,
      `${SPACES} 200`,
      `${SPACES}${chat.space_id}/agents/ 200`,
      `${POST} 201`,
    ]);
    expect(await pathsOf(send)).toEqual([POST]);
  });

  test.each([
    ['tail', ['--from-start', '--no-follow']],
    ['wait', ['--timeout', '5s']],
  ])('is looked up again once by a %s, which reads the session of the source found', async (name, args) => {
    const talk = await startChat();
    const { it, named, env, chat } = talk;
    const sent = await run(['chat', 'send', ...named, '--session', 's1', '-o', 'json', 'Hello!', '--wait'], { env });
    const { message_id } = sent.json<{ message_id: string }>();
    await rememberStale(talk);
    await it.faults({ kind: 'status', status: 404, on: `GET ${HISTORY}`, times: 1 });
    await it.forget();
    const after = name === 'wait' ? ['--after', message_id] : [];
    const ran = await run(['chat', name, ...named, '--session', 's1', ...after, ...args, '-o', 'ndjson'], { env });
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain(chat.source_id);
    expect(ran.stdout).not.toContain('src_gone');
    expect((await it.received()).filter(({ path }) => path.endsWith('/agents/'))).toHaveLength(1);
  });
});
