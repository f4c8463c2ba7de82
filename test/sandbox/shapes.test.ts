import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import type { Paging } from '../../src/sandbox/shapes/paging.ts';
import { SHAPES } from '../../src/sandbox/shapes/shapes.ts';
import { createChat } from './chat.ts';
import { provisionBody, SPACES, startTestSandbox, type TestSandbox } from './client.ts';
import { type DocumentedResponse, documentedClient, type Sent } from './documented.ts';

/** The ids of one kind in a body, in order. */
function idsIn(text: string, prefix: string): string[] {
  return [...new Set([...text.matchAll(new RegExp(`"(${prefix}_[0-9a-f]{20})"`, 'g'))].map(([, id = '']) => id))];
}

/** The parameters of the next page. @param read how many items were read, and the id of the last one */
function nextPage({ by, parameter, firstPage = 1 }: Paging, page: number, read: readonly string[]) {
  if (by === 'page') return { [parameter]: String(page + firstPage) };
  if (by === 'offset') return { [parameter]: String(read.length) };
  if (by === 'last_id') return { [parameter]: read.at(-1) ?? '' };
  return { [parameter]: Buffer.from(`page:${read.length}`).toString('base64url') };
}

type Client = Awaited<ReturnType<typeof documentedClient>>;

/** Reads all pages of a list. */
async function readAll({ send }: Client, paging: Paging | undefined, id: string, prefix: string, sent: Sent = {}) {
  const read: string[] = [];
  for (let page = 0; page < 10; page += 1) {
    const chosen = page > 0 && paging ? nextPage(paging, page, read) : {};
    const { status, text } = await send(id, { ...sent, paging: chosen });
    expect([200, 206]).toContain(status);
    const fresh = idsIn(text, prefix).filter((each) => !read.includes(each));
    read.push(...fresh);
    if (fresh.length === 0 || !paging) break;
  }
  return read;
}

async function spaceIds({ partner }: TestSandbox): Promise<string[]> {
  return (await partner('GET', SPACES)).json.results.map(({ space_id }: { space_id: string }) => space_id);
}

function expectSuccess({ status, text }: DocumentedResponse): void {
  expect({ status, text }).toEqual({ status: expect.toSatisfy((each: number) => each >= 200 && each < 300), text });
}

describe.each(SHAPES.filter(({ name }) => name !== 'plain'))('the shape $name', (shape) => {
  const start = () => startTestSandbox({ shape: shape.name });

  test('has a valid document', async () => {
    const { document } = await documentedClient(await start());
    expect(await new Validator().validate({ ...document })).toEqual({ valid: true });
  });

  test('has a list of all spaces, agents, and jobs', async () => {
    const opened = await start();
    const client = await documentedClient(opened);
    for (const name of ['a', 'b', 'c'])
      expectSuccess(await client.send('provisionSpace', { body: provisionBody(name) }));
    const spaces = await spaceIds(opened);
    expect(spaces).toHaveLength(3);
    expect(await readAll(client, shape.paging, 'listSpaces', 'spc')).toEqual(spaces);
    const agents = ['Two', 'Three'].map((name) => ({ template_id: 'tmpl_sales', name }));
    expectSuccess(await client.send('provisionSpace', { body: provisionBody('a', { agents }) }));
    const path = { space_id: spaces[0] ?? '' };
    const installed = await readAll(client, shape.paging, 'listAgents', 'agt', { path });
    expect(installed).toHaveLength(3);
    const data = { minute: '0', hour: '9', day_of_week: '1-5' };
    const schedule = { type: 'cron', data, timezone: 'UTC' };
    for (const name of ['x', 'y', 'z']) {
      const job = { agent_id: installed[0], name, instructions: 'Sum up.', schedule };
      expectSuccess(await client.send('createCronJob', { body: job }));
    }
    expect(await readAll(client, shape.paging, 'listCronJobs', 'cron')).toHaveLength(3);
  });

  test('sets up chat, accepts messages, and has all of them in the history', async () => {
    const opened = await start();
    const { source_id, space_id, agent_id, history } = await createChat(opened);
    const client = await documentedClient(opened);
    const chat = await client.send('setUpApiChat', { path: { space_id, agent_id }, body: { name: 'Support' } });
    expectSuccess(chat);
    expect(`${chat.text}${chat.headers.get('location')}`).toContain(source_id);
    const sendTo = (session_id: string, text: string) =>
      client.send('sendMessage', {
        body: { source_id, session_id, text, external_message_id: `${session_id}-${text}`, response_mode: 'accepted' },
      });
    expectSuccess(await sendTo('s1', 'one'));
    await expect.poll(() => history()).toHaveLength(2);
    expectSuccess(await sendTo('s2', 'other'));
    expectSuccess(await sendTo('s1', 'two'));
    await expect.poll(() => history()).toHaveLength(4);
    await expect.poll(() => history({ session_id: 's2' })).toHaveLength(2);
    const own = (await history()).map(({ message_id }) => message_id);
    const other = (await history({ session_id: 's2' })).map(({ message_id }) => message_id);
    const query = { source_id, session_id: 's1' };
    const read = await readAll(client, shape.paging, 'readHistory', 'msg', { query });
    expect(read.toSorted()).toEqual((shape.history?.isEverySession ? [...own, ...other] : own).toSorted());
    const after = { ...query, after_message_id: own[1] ?? '' };
    const { text } = await client.send('readHistory', { query: after });
    expect(text).toContain('two');
  });

  test('accepts uploads, shows them, and lists them', async () => {
    const client = await documentedClient(await start());
    for (const file of ['one', 'two', 'three']) {
      expectSuccess(await client.send('uploadDocument', { file }));
      expectSuccess(await client.send('uploadFileAttachment', { file }));
    }
    expectSuccess(await client.send('uploadDocument', { body: { name: 'a.txt', content: 'four' } }));
    const documents = await readAll(client, shape.paging, 'listDocuments', 'doc');
    expect(documents).toHaveLength(4);
    expect(await readAll(client, shape.paging, 'listFileAttachments', 'att')).toHaveLength(3);
    const { text } = await client.send('getDocument', { path: { id: documents[0] ?? '' } });
    expect(text).toContain(documents[0]);
  });

  test('refuses what is wrong in its own words', async () => {
    const client = await documentedClient(await start());
    const missing = await client.send('listAgents', { path: { space_id: 'spc_none' } });
    expect(missing.status).toBe(shape.isErrorOk ? 200 : 404);
    expect(missing.text).toMatch(/There is no space|space_not_found/i);
    const invalid = await client.send('provisionSpace', { body: { external_space_id: '' } });
    expect(invalid.status).toBe(shape.isErrorOk ? 200 : 422);
    const cursor = { query: { source_id: 'src_none', session_id: 's1' } };
    expect((await client.send('readHistory', cursor)).text).toMatch(/no API chat source|source_not_found/i);
  });
});
