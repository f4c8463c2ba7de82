import { describe, expect, test } from 'vitest';
import { createChat, MESSAGE } from '../support/chat.ts';
import { run } from '../support/run.ts';
import { service } from '../support/service.ts';

async function startChat(agent: Record<string, unknown> = {}) {
  const it = await service();
  const chat = await createChat(it, 'session_workflow', agent);
  const [space] = await it.spaces();
  await it.forget();
  const send = (...to: readonly string[]) =>
    run(['chat', 'send', ...to, '--session', 's1', 'Hello!', '-o', 'json'], { env: it.env });
  return { it, chat, send, space: `ext:${space?.external_space_id}` };
}

const SPACES = '/v1/automation/spaces/';

describe('a chat selected by --agent', () => {
  test('is looked up in the lists of spaces and agents, or named by its agent_id alone, and must be in the space if one is given', async () => {
    const { it, chat, send, space } = await startChat();
    expect(await send('--agent', 'name:Support', '--space', space)).toMatchObject({ code: 0, stderr: '' });
    const paths = (await it.received()).map(({ path }) => path);
    expect(paths).toEqual([SPACES, `${SPACES}${chat.space_id}/agents/`, `/v1${MESSAGE}`]);
    expect(await send('--agent', chat.agent_id)).toMatchObject({ code: 0, stderr: '' });
    expect(await send('--agent', chat.agent_id, '--space', space)).toMatchObject({ code: 0, stderr: '' });
    await it.admin('POST', '/spaces', { count: 1, prefix: 'other' });
    for (const to of [
      ['--agent', 'agt_none'],
      ['--agent', chat.agent_id, '--space', 'ext:other-1'],
    ])
      expect(await send(...to)).toMatchObject({ code: 4, stderr: expect.stringContaining('has') });
  });

  test('exits with 4 for an agent without a chat, and for an unknown one: it creates none, and says what to run', async () => {
    const { it, chat, send, space } = await startChat({ auto_create_api_chat: false });
    for (const [agent, message] of [
      ['name:Support', `partnerctl chat setup ${space} name:Support`],
      ['name:Suport', chat.agent_id],
    ] as const) {
      const ran = await send('--agent', agent, '--space', space);
      expect(ran).toMatchObject({ code: 4, stderr: expect.stringContaining(message) });
    }
    expect(await it.posts()).toEqual([]);
  });

  test('is not looked up while the address of the state is invalid', async () => {
    const { it, space } = await startChat();
    const address = ['--agent', 'name:Support', '--space', space, '--state', 'ftp://nowhere'];
    for (const command of ['send', 'tail', 'open']) {
      const args = ['chat', command, ...address, '--session', 's1', ...(command === 'send' ? ['Hello!'] : [])];
      expect(await run(args, { env: it.env })).toMatchObject({ code: 2, stderr: expect.stringContaining('--state') });
    }
    expect(await it.received()).toEqual([]);
  });
});
