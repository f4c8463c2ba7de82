import { describe, expect, test } from 'vitest';
import { createChat, MESSAGE } from '../support/chat.ts';
import { run } from '../support/run.ts';
import { service } from '../support/service.ts';

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
  };
}

const SPACES = 'GET /automation/spaces/';
const POST = `POST ${MESSAGE}`;

describe('a chat selected by --agent', () => {
  test('is looked up in the list of spaces and that of the agents of one space', async () => {
    const { named, pathsOf, chat } = await startChat();
    const send = ['chat', 'send', ...named, '--session', 's1', 'Hello!'];
    expect(await pathsOf(send)).toEqual([SPACES, `${SPACES}${chat.space_id}/agents/`, POST]);
  });

  test('accepts an agent_id without a space, and searches every space for it', async () => {
    const { pathsOf, chat } = await startChat();
    const send = ['chat', 'send', '--agent', chat.agent_id, '--session', 's1', 'Hello!'];
    expect(await pathsOf(send)).toEqual([SPACES, `${SPACES}${chat.space_id}/agents/`, POST]);
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

  test('is refused if it is named twice, incompletely, or not at all; nothing is sent', async () => {
    const { it, env } = await startChat();
    await it.forget();
    const mistakes = [
      ['send', 'text', '--source', 'src_1', '--agent', 'agt_1'],
      ['wait', '--after', 'm', '--agent', 'name:Support'],
      ['tail', '--source', 'src_1', '--space', 'spc_1'],
      ['open', '--agent', 'ext:acme'],
      ['send', 'text', '--agent', 'name:', '--space', 'spc_1'],
      ['tail'],
    ];
    for (const args of mistakes) {
      expect((await run(['chat', ...args, '--session', 's1'], { env })).code, `${args}`).toBe(2);
    }
    expect(await it.received()).toEqual([]);
  });
});
