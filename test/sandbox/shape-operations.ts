import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'vitest';
import type { Paging } from '../../src/sandbox/shapes/paging.ts';
import type { Shape } from '../../src/sandbox/shapes/shape.ts';
import { HISTORY, type HistoryEntry } from '../support/sandbox-chat.ts';
import { provisionBody, SPACES, startTestSandbox, type TestSandbox } from '../support/sandbox-client.ts';
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

/** For every shape that has pages. */
const PAGE_SIZE = 2;

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
    if (fresh.length < PAGE_SIZE || !paging) break;
  }
  return read;
}

function expectSuccess({ status, text }: DocumentedResponse): void {
  expect({ status, text }).toEqual({ status: expect.toSatisfy((each: number) => each >= 200 && each < 300), text });
}

interface Provisioned {
  readonly space_id: string;
  readonly agent_id: string;
}

async function checkLists(client: Client, { partner, admin }: TestSandbox, paging?: Paging): Promise<Provisioned> {
  const agents = ['One', 'Two', 'Three'].map((name) => ({ template_id: 'tmpl_sales', name }));
  expectSuccess(await client.send('provisionSpace', { body: provisionBody('a', { agents }) }));
  await admin('POST', '/spaces', { count: 4 });
  const spaces: { space_id: string }[] = (await partner('GET', SPACES)).json.results;
  const ids = spaces.map(({ space_id }) => space_id);
  expect(ids).toHaveLength(5);
  expect(await readAll(client, paging, 'listSpaces', 'spc')).toEqual(ids);
  const path = { space_id: ids[0] ?? '' };
  const installed = await readAll(client, paging, 'listAgents', 'agt', { path });
  expect(installed).toHaveLength(3);
  return { space_id: ids[0] ?? '', agent_id: installed[0] ?? '' };
}

async function checkJobs(client: Client, { agent_id }: Provisioned, paging?: Paging): Promise<void> {
  const schedule = { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '1-5' }, timezone: 'UTC' };
  expectSuccess(
    await client.send('createCronJob', { body: { agent_id, name: 'x', instructions: 'Sum up.', schedule } }),
  );
  expect(await readAll(client, paging, 'listCronJobs', 'cron')).toHaveLength(1);
  expect(await readAll(client, paging, 'listCronJobs', 'cron', { query: { agent_id: 'agt_none' } })).toEqual([]);
}

async function checkChat(client: Client, opened: TestSandbox, provisioned: Provisioned, shape: Shape): Promise<void> {
  const { paging, history = {} } = shape;
  const { partner, admin } = opened;
  const chat = await client.send('setUpApiChat', { path: { ...provisioned }, body: { name: 'Support' } });
  expectSuccess(chat);
  const agents = (await partner('GET', `${SPACES}${provisioned.space_id}/agents/`)).json.results;
  const { source_id } = agents[0].integrations.api_chat;
  expect(`${chat.text}${chat.headers.get('location')}`).toContain(source_id);
  const query = { source_id, session_id: 's1' };
  expect((await client.send('readHistory', { query })).status).toBe(history.isEmptyNotFound ? 404 : 200);
  const message = { ...query, text: 'one', external_message_id: 'x1', response_mode: 'accepted' };
  expectSuccess(await client.send('sendMessage', { body: message }));
  await admin('POST', '/messages', { ...query, role: 'assistant', text: 'Reply {n}.', count: 3 });
  await admin('POST', '/messages', { ...query, session_id: 's2', role: 'assistant', text: 'Other.' });
  const messagesOf = async (session_id: string): Promise<HistoryEntry[]> => {
    const { json } = await partner('GET', `${HISTORY}?${new URLSearchParams({ source_id, session_id })}`);
    return json.results;
  };
  const messages = await messagesOf('s1');
  const own = messages.map(({ message_id }) => message_id);
  expect(own).toHaveLength(4);
  // The messages of a session are a millisecond apart at least, so that the other session's may be older than the last ones.
  const all = [...messages, ...(await messagesOf('s2'))].sort((a, b) => a.created_at.localeCompare(b.created_at));
  const expected = history.ignoresSession ? all.map(({ message_id }) => message_id) : own;
  const read = await readAll(client, paging, 'readHistory', 'msg', { query });
  expect(read).toEqual(history.isNewestFirst ? expected.toReversed() : expected);
  const after = await client.send('readHistory', { query: { ...query, after_message_id: own[2] ?? '' } });
  expect(after.text.includes(`"${own[2]}"`)).toBe(history.isInclusive ?? false);
  expect(after.text).toContain(`"${own[3]}"`);
}

async function checkUploads(client: Client, paging: Paging | undefined): Promise<void> {
  expectSuccess(await client.send('uploadDocument', { file: 'one' }));
  expectSuccess(await client.send('uploadFileAttachment', { file: 'two' }));
  expectSuccess(await client.send('uploadDocument', { body: { name: 'a.txt', content: 'three' } }));
  const documents = await readAll(client, paging, 'listDocuments', 'doc');
  expect(documents).toHaveLength(2);
  expect(await readAll(client, paging, 'listFileAttachments', 'att')).toHaveLength(1);
  const { text } = await client.send('getDocument', { path: { id: documents[0] ?? '' } });
  expect(text).toContain(documents[0]);
}

async function checkErrors({ send }: Client, { errorsAreOk }: Shape): Promise<void> {
  const missing = await send('listAgents', { path: { space_id: 'spc_none' } });
  expect(missing.status).toBe(errorsAreOk ? 200 : 404);
  expect(missing.text).toMatch(/There is no space|space_not_found/i);
  const invalid = await send('provisionSpace', { body: { external_space_id: '' } });
  expect(invalid.status).toBe(errorsAreOk ? 200 : 422);
  const history = await send('readHistory', { query: { source_id: 'src_none', session_id: 's1' } });
  expect(history.text).toMatch(/no API chat source|source_not_found/i);
}

/** Creating one takes longer than everything else. */
export function createDocumentValidator(): Validator {
  return new Validator();
}

/** Uses every operation of a shape through the shape's own document, which must be valid. */
export async function useEveryOperation(shape: Shape, validator: Validator): Promise<void> {
  const opened = await startTestSandbox({ shape: shape.name, script: [{ pattern: '.', fail: 'silent' }] });
  const client = await documentedClient(opened);
  expect(await validator.validate({ ...client.document })).toEqual({ valid: true });
  const provisioned = await checkLists(client, opened, shape.paging);
  await checkJobs(client, provisioned, shape.paging);
  await checkChat(client, opened, provisioned, shape);
  await checkUploads(client, shape.paging);
  await checkErrors(client, shape);
}
