import { describe, expect, test } from 'vitest';
import { type HistoryServer, historyServer, idsFrom, readAll } from '../support/history-server.ts';

const WHOLE = '--from-start';

async function expectWhole(server: HistoryServer, first: number, last: number, ...flags: readonly string[]) {
  const { code, ids, stderr } = await readAll(server, ...(flags.length > 0 ? flags : [WHOLE]));
  expect({ code, ids, stderr }).toEqual({ code: 0, ids: idsFrom(first, last), stderr: '' });
}

test('a history that announces more with each empty page is empty', async () => {
  const server = await historyServer();
  server.behave(({ json, url }) => {
    const number = Number(url.searchParams.get('pageToken') ?? '0');
    json(200, { messages: [], nextPageToken: String(number + 1) });
  });
  expect((await readAll(server, WHOLE)).ids).toEqual([]);
  expect(server.requests.length).toBeLessThan(10);
});

describe('a newest-first history', () => {
  /** The newest `most` after the cursor, the newest first. */
  async function newestFirst(count: number, most: number, more: Record<string, unknown> = {}): Promise<HistoryServer> {
    const server = await historyServer();
    server.add('s', count);
    server.behave(({ json }, wellBehaved) => json(200, { results: wellBehaved().slice(-most).reverse(), ...more }));
    return server;
  }

  test('without a link may be incomplete, unless enough messages arrived', async () => {
    const server = await newestFirst(12, 5);
    const eight = await readAll(server, '--tail', '8');
    expect(eight.ids).toEqual(idsFrom(7, 11));
    expect(eight.stderr).toMatch(/may be incomplete: the service sent 5 messages, newest first/);
    await expectWhole(server, 7, 11, '--tail', '5');
  });

  test('that announces older messages, but no way to read them, is not taken for complete', async () => {
    const server = await newestFirst(8, 3, { has_more: true });
    const { code, ids, stderr } = await readAll(server, '--after', 's-1');
    expect({ code, ids }).toEqual({ code: 8, ids: idsFrom(5, 7) });
    expect(JSON.parse(stderr).error.message).toBe('The history of s could not be read completely.');
    await expectWhole(await newestFirst(5, 5, { has_more: false }), 0, 4);
  });
});

test('the newest messages, the oldest of them first, are not taken for all if others come before', async () => {
  const server = await historyServer();
  server.add('s', 8);
  const pageInfo = { hasNextPage: false, hasPreviousPage: true, startCursor: 'a' };
  server.behave(({ json }, wellBehaved) => json(200, { results: wellBehaved().slice(-3), pageInfo }));
  expect(await readAll(server, WHOLE)).toMatchObject({ code: 8, ids: idsFrom(5, 7) });
  await expectWhole(server, 5, 7, '--after', 's-4');
});

test('a history whose times and ids tell nothing of its order is shown as it is, with one warning', async () => {
  const server = await historyServer();
  const results = ['b', 'c', 'a'].map((message_id) => ({ message_id, role: 'user', text: message_id }));
  server.behave(({ json, after }) => json(200, { results: after === undefined ? results : [], next: null }));
  const { ids, stderr } = await readAll(server, WHOLE);
  expect(ids).toEqual(['b', 'c', 'a']);
  expect(stderr).toMatch(/^warning: The order of the messages is not known.*\n$/);
});
