import { describe, expect, test } from 'vitest';
import { HISTORY, MESSAGE } from '../support/chat.ts';
import { type FakeRequest, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { type HistoryServer, historyServer, idsFrom, nextPath, readAll, tailUntil } from '../support/history-server.ts';
import { fastClock, run, tempDirectory, tinyRandom } from '../support/run.ts';

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

test('a 404 page of a gateway is an outage, not a history that is empty', async () => {
  const server = await historyServer();
  server.behave(({ response }) => response.writeHead(404, { 'content-type': 'text/html' }).end('<html>'));
  expect((await tailUntil(server, [WHOLE, '--max-outage', '30s'], () => false)).code).toBe(8);
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

test('a history that rejects all cursors but the newest is shown whole', async () => {
  const server = await historyServer();
  server.add('s', 3);
  server.behave(({ json, after }, wellBehaved) => {
    const entries = server.sessions.get('s') ?? [];
    const isNewest = after === undefined || entries.slice(-2).some(({ message_id }) => message_id === after);
    if (isNewest) json(200, wellBehaved());
    else json(422, {});
  });
  const { ids } = await tailUntil(server, ['--tail', '2'], (shown) => {
    if (shown.ids.length > 1 && (server.sessions.get('s')?.length ?? 0) < shown.ids.length + 2) server.add('s', 1);
    return shown.ids.length === 4;
  });
  expect(ids).toEqual(idsFrom(1, 4));
});

test('a history that ignores cursors is shown once, and asked for again only after a pause', async () => {
  const server = await historyServer();
  const entries = idsFrom(0, 299).map((message_id) => ({ message_id, role: 'assistant', text: 'x' }));
  server.behave(({ json, url }) => {
    const at = Number(url.searchParams.get('at') ?? 0);
    const end = at + 100;
    json(200, { results: entries.slice(at, end), next: end < entries.length ? nextPath(url, 'at', end) : null });
  });
  const { ids } = await tailUntil(server, ['--from-start', '--timeout', '6s'], () => false);
  expect(ids).toEqual(idsFrom(0, 299));
  expect(server.requests.length).toBeLessThan(36);
});

describe('a history that ignores cursors, in numbered pages, is read to its last page', () => {
  const entries = idsFrom(0, 29).map((message_id) => ({ message_id, role: 'assistant', text: 'x' }));
  const pages = (page: number) => ({ page, pages: 3 });

  test.each([
    ['that are counted, after a message of the first', pages, 's-4'],
    ['that are counted, after a message of a later one', pages, 's-14'],
    ['with a total', () => ({ total: 30 }), 's-14'],
  ])('%s', async (_, counts, after) => {
    const server = await historyServer();
    server.behave(({ json, url }) => {
      const page = Number(url.searchParams.get('page') ?? 1);
      json(200, { results: entries.slice(page * 10 - 10, page * 10), ...counts(page) });
    });
    await expectWhole(server, Number(after.slice(2)) + 1, 29, '--after', after);
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

describe('a history whose times and ids tell nothing of its order', () => {
  const RESULTS = ['b', 'c', 'a'].map((message_id) => ({ message_id, role: 'assistant', text: message_id }));
  const WARNING = /^warning: The order of the messages is not known.*\n$/;

  /** @param size how many messages are on a page; each page links to the next one */
  async function unordered(size: number): Promise<HistoryServer> {
    const server = await historyServer();
    server.behave(({ json: send, url, after }) => {
      const from = Number(url.searchParams.get('at') ?? 0);
      const [results, to] = [after === undefined ? RESULTS : [], from + size];
      const next = to < results.length ? nextPath(url, 'at', to) : null;
      send(200, { results: results.slice(from, to), next });
    });
    return server;
  }

  test.each([1, 3])('is shown as it is, with one warning, in pages of %d', async (size) => {
    const { ids, stderr } = await readAll(await unordered(size), WHOLE);
    expect(ids).toEqual(['b', 'c', 'a']);
    expect(stderr).toMatch(WARNING);
  });

  test('is shown as it is without a warning, if the messages have the same time', async () => {
    const server = await historyServer();
    const results = RESULTS.map((message) => ({ ...message, created_at: '2026-01-01T00:00:00.000Z' }));
    server.behave(({ json: send, after }) => send(200, { results: after === undefined ? results : [], next: null }));
    expect(await readAll(server, WHOLE)).toMatchObject({ ids: ['b', 'c', 'a'], stderr: '' });
  });

  test('is warned of once by a tail of two sessions, also when it is read again and again', async () => {
    const server = await unordered(1);
    const { stderr } = await tailUntil(server, [WHOLE, '--session', 'b', '--timeout', '2m'], () => false);
    expect(stderr).toMatch(WARNING);
  });

  test('is warned of by chat wait, and by chat watch', async () => {
    const server = await historyServer();
    const results = [{ message_id: 'x', role: 'user', text: 'x' }, ...RESULTS];
    server.behave(({ json: send }) => send(200, { results, next: null }));
    const env = { PARTNER_BASE_URL: server.baseUrl, PARTNER_TOKEN: 'test-token', HOME: tempDirectory() };
    const options = { env, clock: fastClock(), random: tinyRandom };
    const waited = await run(
      ['chat', 'wait', '--source', 'src', '--session', 's', '--after', 'x', '--replies', '3'],
      options,
    );
    expect(waited).toMatchObject({ code: 0, stdout: 'b\nc\na\n', stderr: expect.stringMatching(WARNING) });
    await run(['chat', 'tail', '--source', 'src', '--session', 's', '--no-follow'], options);
    const watched = await run(['chat', 'watch', '--no-follow', '-o', 'json'], options);
    expect(watched).toMatchObject({ code: 0, stderr: expect.stringMatching(WARNING) });
  });
});

describe('a message that was sent', () => {
  const OWN = { message_id: 'm1', session_id: 'anna', role: 'user', text: 'Hi', created_at: '2026-01-01T00:00:00Z' };
  const SEND = ['chat', 'send', '--source', 'src', '--session', 'anna', '--wait', 'Hi'];

  async function send(history: (request: FakeRequest) => unknown, ...set: readonly string[]) {
    const service = await startFakeService({
      [`POST ${MESSAGE}`]: json({ message_id: 'm1' }, 201),
      [`GET ${HISTORY}`]: (request, response) => sendJson(response, history(request)),
    });
    const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'test-token', HOME: tempDirectory() };
    const options = { env, clock: fastClock(), random: tinyRandom };
    if (set.length > 0) await run(['contract', 'set', ...set], options);
    return { ran: await run([...SEND, '-o', 'json'], options), service };
  }

  test.each<[string, (request: FakeRequest) => unknown, ...string[]]>([
    [
      'that has only older messages',
      ({ query }) => (query.get('after_message_id') ? [] : [{ ...OWN, message_id: 'm0' }]),
    ],
    ['without cursors', () => [{ ...OWN, message_id: 'm0' }], 'messages.history.after_message_id', 'none'],
  ])('and never shows in a history %s is said not to show', async (_, history, ...set) => {
    const { ran } = await send(history, ...set);
    expect(ran.code).toBe(11);
    expect(ran.json()).toMatchObject({ message_id: 'm1', reply: null });
    const { message, hint } = ran.error();
    expect(message).toBe('The message m1 does not show in the history of session anna.');
    expect(hint).toMatch(
      /contract set messages\.history\.session_id 'query:<name>'.*messages\.history\.\*.*chat wait/s,
    );
  });

  test('and shows, without a reply, has none; it is looked up once', async () => {
    const { ran, service } = await send(({ query }) => (query.get('after_message_id') ? [] : [OWN]));
    expect(ran.code).toBe(11);
    expect(ran.error().message).toBe('No reply came within 2m.');
    expect(
      service.requests.filter(({ method, query }) => method === 'GET' && !query.has('after_message_id')),
    ).toHaveLength(1);
  });

  test('and shows late in a history without cursors is waited for', async () => {
    let polls = 0;
    const reply = { ...OWN, message_id: 'm2', role: 'assistant', text: 'Hello!' };
    const { ran } = await send(
      () => {
        polls += 1;
        return polls < 4 ? [] : [OWN, reply];
      },
      'messages.history.after_message_id',
      'none',
    );
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.json()).toMatchObject({ reply: { text: 'Hello!' } });
  });
});
