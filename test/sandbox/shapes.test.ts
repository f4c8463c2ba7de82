import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import type { Paging } from '../../src/sandbox/shapes/paging.ts';
import type { Shape } from '../../src/sandbox/shapes/shape.ts';
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

async function checkLists(client: Client, opened: TestSandbox, paging: Paging | undefined): Promise<void> {
  const bodies = ['a', 'b', 'c'].map((name) => provisionBody(name));
  for (const body of bodies) expectSuccess(await client.send('provisionSpace', { body }));
  const spaces = await spaceIds(opened);
  expect(spaces).toHaveLength(3);
  expect(await readAll(client, paging, 'listSpaces', 'spc')).toEqual(spaces);
  const agents = ['Two', 'Three'].map((name) => ({ template_id: 'tmpl_sales', name }));
  expectSuccess(await client.send('provisionSpace', { body: provisionBody('a', { agents }) }));
  const path = { space_id: spaces[0] ?? '' };
  const installed = await readAll(client, paging, 'listAgents', 'agt', { path });
  expect(installed).toHaveLength(3);
  const data = { minute: '0', hour: '9', day_of_week: '1-5' };
  const schedule = { type: 'cron', data, timezone: 'UTC' };
  for (const name of ['x', 'y', 'z']) {
    const job = { agent_id: installed[0], name, instructions: 'Sum up.', schedule };
    expectSuccess(await client.send('createCronJob', { body: job }));
  }
  expect(await readAll(client, paging, 'listCronJobs', 'cron')).toHaveLength(3);
  expect(await readAll(client, paging, 'listCronJobs', 'cron', { query: { agent_id: 'agt_none' } })).toEqual([]);
}

async function checkChat(client: Client, opened: TestSandbox, { paging, history: trait }: Shape): Promise<void> {
  const { source_id, space_id, agent_id, history } = await createChat(opened);
  const chat = await client.send('setUpApiChat', { path: { space_id, agent_id }, body: { name: 'Support' } });
  expectSuccess(chat);
  expect(`${chat.text}${chat.headers.get('location')}`).toContain(source_id);
  const sendTo = async (session_id: string, text: string, messages: number): Promise<void> => {
    const external_message_id = `${session_id}-${text}`;
    const body = { source_id, session_id, text, external_message_id, response_mode: 'accepted' };
    expectSuccess(await client.send('sendMessage', { body }));
    await expect.poll(() => history({ session_id }), { interval: 5 }).toHaveLength(messages);
  };
  const query = { source_id, session_id: 's1' };
  const empty = await client.send('readHistory', { query });
  expect(empty.status).toBe(trait?.isEmptyNotFound ? 404 : 200);
  await sendTo('s1', 'one', 2);
  await sendTo('s2', 'other', 2);
  await sendTo('s1', 'two', 4);
  const own = (await history()).map(({ message_id }) => message_id);
  const other = (await history({ session_id: 's2' })).map(({ message_id }) => message_id);
  const read = await readAll(client, paging, 'readHistory', 'msg', { query });
  const all = trait?.isEverySession ? [...own, ...other] : own;
  expect(read.toSorted()).toEqual(all.toSorted());
  if (trait?.isNewestFirst && !paging) expect(read).toEqual(own.toReversed());
  const after = await client.send('readHistory', { query: { ...query, after_message_id: own[2] ?? '' } });
  expect(after.text.includes('"two"')).toBe(trait?.isInclusive ?? false);
  expect(after.text).toContain(own[3]);
}

async function checkUploads(client: Client, paging: Paging | undefined): Promise<void> {
  for (const file of ['one', 'two', 'three']) {
    expectSuccess(await client.send('uploadDocument', { file }));
    expectSuccess(await client.send('uploadFileAttachment', { file }));
  }
  expectSuccess(await client.send('uploadDocument', { body: { name: 'a.txt', content: 'four' } }));
  const documents = await readAll(client, paging, 'listDocuments', 'doc');
  expect(documents).toHaveLength(4);
  expect(await readAll(client, paging, 'listFileAttachments', 'att')).toHaveLength(3);
  const { text } = await client.send('getDocument', { path: { id: documents[0] ?? '' } });
  expect(text).toContain(documents[0]);
}

async function checkErrors({ send }: Client, { isErrorOk }: Shape): Promise<void> {
  const missing = await send('listAgents', { path: { space_id: 'spc_none' } });
  expect(missing.status).toBe(isErrorOk ? 200 : 404);
  expect(missing.text).toMatch(/There is no space|space_not_found/i);
  const invalid = await send('provisionSpace', { body: { external_space_id: '' } });
  expect(invalid.status).toBe(isErrorOk ? 200 : 422);
  const history = await send('readHistory', { query: { source_id: 'src_none', session_id: 's1' } });
  expect(history.text).toMatch(/no API chat source|source_not_found/i);
}

describe('in each shape', () => {
  // Making one takes longer than all else.
  const validator = new Validator();
  const script = [{ pattern: '.', replies: [{ text: 'Noted.', delay_ms: 0 }] }];
  const dialects = SHAPES.filter(({ name }) => name !== 'plain').map((shape) => [shape.name, shape] as const);

  test.each(dialects)('%s has a valid document, and every operation works as it says', async (name, shape) => {
    const opened = await startTestSandbox({ shape: name, script });
    const client = await documentedClient(opened);
    expect(await validator.validate({ ...client.document })).toEqual({ valid: true });
    await checkLists(client, opened, shape.paging);
    await checkChat(client, opened, shape);
    await checkUploads(client, shape.paging);
    await checkErrors(client, shape);
  });
});

test('there are two dozen shapes or more, each with a name of its own', () => {
  const names = SHAPES.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(26);
});
