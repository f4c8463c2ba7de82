import { describe, expect, test } from 'vitest';
import { type FakeService, sendJson, startFakeService } from '../support/fake-service.ts';
import { run, tinyRandom } from '../support/run.ts';
import { PROVISION, provisionBody, type Service, service } from '../support/service.ts';

/** A space `acme` with the agents of these names, none of which has a source. */
async function withAgents(names: readonly string[]) {
  const it = await service();
  const agents = names.map((name) => ({ template_id: 'tmpl_support', name }));
  const { json } = await it.partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
  const ids: string[] = json.agents.map(({ agent_id }: { agent_id: string }) => agent_id);
  await it.forget();
  return { ...it, spaceId: String(json.space.space_id), ids };
}

const setUp = (it: Service, args: readonly string[], format = 'json') =>
  run(['chat', 'setup', ...args, '-o', format, '--color', 'never'], { env: it.env, random: tinyRandom });

describe('chat setup', () => {
  test('creates the source with all three fields, and finds it by every kind of space and agent reference', async () => {
    const it = await withAgents(['Support', 'Sales']);
    const [agentId = ''] = it.ids;
    const made = await setUp(it, ['ext:acme', 'name:Support']);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.json()).toMatchObject({
      source_id: expect.stringMatching(/^src_/),
      name: 'API chat',
      reply_capable: true,
      routing_mode: 'agent_inbox',
      agent_id: agentId,
      space_id: it.spaceId,
      created: true,
    });
    const source = made.json<{ source_id: string }>();
    for (const args of [
      [it.spaceId, agentId],
      ['name:Acme', agentId],
      ['ext:acme', 'name:Support'],
    ]) {
      const found = await setUp(it, args);
      expect(found).toMatchObject({ code: 0, stderr: '' });
      expect(found.json()).toEqual({ ...source, created: false });
    }
    const path = `/v1/automation/spaces/${it.spaceId}/agents/${agentId}/api-chat/`;
    const body = { name: 'API chat', reply_capable: true, routing_mode: 'agent_inbox' };
    expect(await it.posts()).toMatchObject(Array.from({ length: 4 }, () => ({ path, body })));
  });

  test('sends the values of the flags', async () => {
    const it = await withAgents(['Support']);
    const flags = ['--name', 'Web chat', '--no-reply-capable', '--routing-mode', 'session_workflow'];
    const ran = await setUp(it, ['ext:acme', 'name:Support', ...flags]);
    const fields = { name: 'Web chat', reply_capable: false, routing_mode: 'session_workflow' };
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toMatchObject(fields);
    expect(await it.posts()).toMatchObject([{ body: fields }]);
  });

  test('shows the source, its routing, and whether it was created or reused in the table', async () => {
    const it = await withAgents(['Support']);
    const made = await setUp(it, ['ext:acme', 'name:Support'], 'table');
    expect(made.stdout).toMatch(/^SOURCE: +src_\S+\nNAME: +API chat\nROUTING: +agent_inbox\nSTATUS: +created\n$/);
    const found = await setUp(it, ['ext:acme', 'name:Support'], 'tsv');
    expect(found.stdout).toMatch(/^src_\S+\tAPI chat\tagent_inbox\treused\n$/);
  });

  test('notes how an existing source differs, and does not change it', async () => {
    const it = await withAgents(['Support']);
    await setUp(it, ['ext:acme', 'name:Support', '--no-reply-capable']);
    const asked = ['ext:acme', 'name:Support', '--routing-mode', 'session_workflow', '--name', 'Other'];
    const ran = await setUp(it, asked);
    expect(ran.json()).toMatchObject({ name: 'API chat', reply_capable: false, routing_mode: 'agent_inbox' });
    expect(ran.stderr).toBe(
      'note: the source differs from what you asked for: name is API chat, not Other; reply_capable is false, not true; ' +
        'routing_mode is agent_inbox, not session_workflow. An existing source is never changed.\n',
    );
    expect((await setUp(it, [...asked, '-q'])).stderr).toBe('');
  });
});

describe('an agent that is not found', () => {
  test('exits with 4 for an unknown name, lists similar names, and sends nothing', async () => {
    const it = await withAgents(['Support EU', 'Sales']);
    const ran = await setUp(it, ['ext:acme', 'name:support']);
    expect(ran).toMatchObject({ code: 4, stdout: '' });
    expect(ran.error()).toMatchObject({
      type: 'not_found',
      details: { candidates: [it.ids[0]], why: expect.stringContaining(`${it.ids[0]} · Support EU · tmpl_support`) },
      hint: `List all agents with: partnerctl agents list ${it.spaceId}`,
    });
    expect(await it.posts()).toEqual([]);
  });

  test('exits with 4 for an unknown agent_id, with the command that lists agents', async () => {
    const it = await withAgents(['Support']);
    const ran = await setUp(it, ['ext:acme', 'agt_none']);
    expect(ran).toMatchObject({ code: 4, stdout: '' });
    expect(ran.error()).toMatchObject({
      type: 'not_found',
      status: 404,
      code: 'agent_not_found',
      hint: expect.stringContaining(`partnerctl agents list ${it.spaceId}`),
    });
  });

  test.each([
    [['ext:acme', 'ext:Support'], /agent_id, or name:/],
    [['ext:acme'], /--help/],
    [['ext:acme', 'name:Support', '--routing-mode', 'fast'], /--help/],
    [['ext:acme', 'name:Support', '--name', ' '], null],
  ])('%j is rejected, and nothing is sent', async (args, hint) => {
    const it = await withAgents(['Support']);
    const ran = await setUp(it, args);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    if (hint) expect(ran.error().hint).toMatch(hint);
    else expect(ran.error().message).toContain('--name');
    expect(await it.received()).toEqual([]);
  });
});

describe('chat setup on services with other conventions', () => {
  const answering = (body: unknown, status = 200): Promise<FakeService> =>
    startFakeService((_, response) => sendJson(response, body, status));
  const ask = ({ baseUrl }: FakeService, format: string) =>
    run(['chat', 'setup', 's1', 'a1', '-o', format], { env: { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'pat_x' } });

  test.each([
    ['an id of its own name', { id: 's-7', name: 'Chat', extra: [1] }, { source_id: 's-7' }],
    ['one level down', { source: { source_id: 's-7', name: 'Chat' }, created: false }, undefined],
  ])('prints the object as sent, with its source_id: %s', async (_, body, added) => {
    const expected = added === undefined ? { source_id: 's-7', name: 'Chat' } : { ...body, ...added };
    const server = await answering(body);
    expect((await ask(server, 'json')).json()).toEqual(expected);
  });

  test.each([
    [{ source_id: 's-7' }, 200, 'unknown'],
    [{ source_id: 's-7' }, 201, 'created'],
    [{ source: { id: 's-7' }, created: false }, 201, 'reused'],
  ])('shows %j with status %i as %s', async (body, status, word) => {
    expect((await ask(await answering(body, status), 'tsv')).stdout).toBe(`s-7\t\t\t${word}\n`);
  });
});
