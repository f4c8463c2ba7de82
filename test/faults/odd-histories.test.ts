import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/chat/follow.ts';
import type { FollowStart } from '../../src/chat/session.ts';
import { historyServer, nextPath } from '../support/history-server.ts';
import { client } from '../unit/api/http-client.ts';
import { followDeps, followSessions, readAll, summarize, until, untilEnd } from './following.ts';

const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `+s-${from + index}`);

describe('a history with empty pages before others', () => {
  const pagesOf = async (...pages: number[]) => {
    const server = await historyServer();
    const all = server.add(
      's',
      pages.reduce((sum, size) => sum + size, 0),
    );
    const seen: string[] = [];
    server.behave(({ json, url }, wellBehaved) => {
      const token = url.searchParams.get('pageToken') ?? '0';
      seen.push(token);
      const index = Number(token);
      const from = pages.slice(0, index).reduce((sum, size) => sum + size, 0);
      const items = wellBehaved().slice(from, from + (pages[index] ?? 0));
      json(200, { messages: items, nextPageToken: index < pages.length - 1 ? String(index + 1) : '' });
    });
    return { server, all, seen };
  };

  it('is read to its end', async () => {
    const { server } = await pagesOf(0, 1, 0, 2);
    expect(summarize(await readAll(server, { from: 'start' }))).toEqual([...ids(0, 2)]);
  });

  it('is empty if the service always announces more', async () => {
    const { server, seen } = await pagesOf(...Array.from({ length: 50 }, () => 0));
    expect(summarize(await readAll(server, { from: 'start' }))).toEqual([]);
    expect(seen.length).toBeLessThan(10);
  });
});

describe('a newest-first history', () => {
  /** The newest `most` after the cursor, the newest first. */
  async function newestFirst(count: number, most: number, more: Record<string, unknown> = {}) {
    const server = await historyServer();
    server.add('s', count);
    server.behave(({ json }, wellBehaved) => json(200, { results: wellBehaved().slice(-most).reverse(), ...more }));
    return server;
  }

  it('without a link is reported as possibly incomplete, unless enough messages arrived', async () => {
    const server = await newestFirst(12, 5);
    const all = await readAll(server, { from: 'start' });
    expect(summarize(all)).toEqual([...ids(7, 11), 'gap']);
    expect(all).toContainEqual({
      kind: 'gap',
      ref: { source_id: 'src', session_id: 's' },
      evidence: expect.stringContaining('sent 5 messages'),
      isCertain: false,
    });
    expect(summarize(await readAll(server, { from: 'last', count: 8 }))).toEqual([...ids(7, 11), 'gap']);
    expect(summarize(await readAll(server, { from: 'last', count: 5 }))).toEqual([...ids(7, 11)]);
  });

  it.each([{ next: null }, { has_more: false }, { total: 5 }])(
    'is complete if the service says so: %j',
    async (more) => {
      expect(summarize(await readAll(await newestFirst(5, 5, more), { from: 'start' }))).toEqual([...ids(0, 4)]);
    },
  );

  it('may hide part of a burst', async () => {
    const server = await newestFirst(3, 20);
    const events = followSessions(followDeps(server.baseUrl), { s: { from: 'last', count: 3 } });
    await until(events, ({ kind }) => kind === 'caught-up');
    server.add('s', 30);
    expect(summarize(await until(events, ({ kind }) => kind === 'gap'))).toEqual([...ids(13, 32), 'gap']);
    await events.return();
  });

  it.each<[string, FollowStart, number[]]>([
    ['all', { from: 'start' }, [5, 7]],
    ['what came after a message', { from: 'after', message_id: 's-1' }, [5, 7]],
  ])(
    'that announces older messages, but no way to read them, is not reported as complete: %s',
    async (_, begin, [first = 0, last = 0]) => {
      const server = await historyServer();
      server.add('s', 8);
      server.behave(({ json }, wellBehaved) => {
        json(200, { results: wellBehaved().slice(-3).reverse(), has_more: wellBehaved().length > 3 });
      });
      const shown: SessionEvent[] = [];
      const reading = async (): Promise<void> => {
        const events = followSessions(followDeps(server.baseUrl), { s: begin }, { once: true });
        for await (const event of events) shown.push(event);
      };
      await reading();
      expect(summarize(shown)).toEqual([...ids(first, last), 'gap']);
      expect(summarize(await readAll(server, { from: 'last', count: 3 }))).toEqual([...ids(first, last)]);
      const events = followSessions(followDeps(server.baseUrl), { s: begin });
      expect(summarize(await until(events, ({ kind }) => kind === 'gap'))).toEqual([...ids(first, last), 'gap']);
      await events.return();
    },
  );

  it('that continues with older messages after its last one is read completely', async () => {
    const server = await historyServer();
    server.add('s', 8);
    server.behave(({ json, after }) => {
      const all = (server.sessions.get('s') ?? []).toReversed();
      const rest = all.slice(all.findIndex(({ message_id }) => message_id === after) + 1);
      json(200, { results: rest.slice(0, 3), has_more: rest.length > 3 });
    });
    const events = followSessions(followDeps(server.baseUrl), { s: { from: 'start' } });
    const shown = await until(events, ({ kind }) => kind === 'caught-up' || kind === 'gap');
    expect(summarize(shown).toSorted()).toEqual(ids(0, 7));
    await events.return();
  });

  it.each([
    ['in one response', 20, 1],
    ['over links', 4, 1],
    ['with timestamps in whole seconds', 20, 1000],
  ])('that ignores the cursor, %s, does not show messages older than the start', async (_, most, step) => {
    const server = await historyServer();
    for (let index = 0; index < 6; index += 1) {
      const at = new Date(Math.floor((Date.UTC(2026, 0, 1) + 400 * index) / step) * step);
      server.add('s', 1, index % 2 === 0 ? 'user' : 'assistant', at);
    }
    server.behave(({ json, url }) => {
      const skip = Number(url.searchParams.get('skip') ?? 0);
      const all = (server.sessions.get('s') ?? []).toReversed();
      const next = skip + most < all.length ? `?skip=${skip + most}` : null;
      json(200, { results: all.slice(skip, skip + most), next });
    });
    const begin: FollowStart = { from: 'after', message_id: 's-4' };
    expect(summarize(await readAll(server, begin))).toEqual(['+s-5']);
    const events = followSessions(followDeps(server.baseUrl), { s: begin });
    await until(events, ({ kind }) => kind === 'caught-up');
    server.add('s', 1, 'assistant', new Date(Date.UTC(2026, 0, 1, 1)));
    expect(summarize(await until(events, ({ kind }) => kind === 'message'))).toEqual(['+s-6']);
    await events.return();
  });

  it.each<[string, number, (index: number) => string | undefined]>([
    ['one by one', 1, (index) => new Date(Date.UTC(2026, 0, 1) + index).toISOString()],
    ['two by two', 2, (index) => new Date(Date.UTC(2026, 0, 1) + index).toISOString()],
    [
      'with timestamps in whole seconds',
      3,
      (index) => new Date(Date.UTC(2026, 0, 1, 0, 0, Math.floor(index / 4))).toISOString(),
    ],
    ['without timestamps', 2, () => undefined],
  ])('that ignores the cursor in its links, %s, loses nothing after the start', async (_, most, timestampOf) => {
    const server = await historyServer();
    server.add('s', 12);
    server.behave(({ json, url }) => {
      const skip = Number(url.searchParams.get('skip') ?? 0);
      const entries = server.sessions.get('s') ?? [];
      const all = entries.map((entry, index) => ({ ...entry, created_at: timestampOf(index) })).toReversed();
      const next = skip + most < all.length ? `?skip=${skip + most}` : null;
      json(200, { results: all.slice(skip, skip + most), next });
    });
    const shown = summarize(await readAll(server, { from: 'after', message_id: 's-5' }));
    expect(shown).toEqual(expect.arrayContaining(ids(6, 11)));
  });

  it('is read in order through its links, and only once', async () => {
    const server = await historyServer();
    server.add('s', 25);
    const sizes: number[] = [];
    let failures = 0;
    server.behave(({ json, url }, wellBehaved) => {
      const skip = Number(url.searchParams.get('skip') ?? 0);
      if (skip > 0 && failures > 0) {
        failures -= 1;
        json(503, {});
        return;
      }
      const results = wellBehaved()
        .toReversed()
        .slice(skip, skip + 10);
      sizes.push(results.length);
      json(200, { results, next: skip + 10 < wellBehaved().length ? nextPath(url, 'skip', skip + 10) : null });
    });
    expect(summarize(await readAll(server, { from: 'start' }))).toEqual([...ids(0, 24)]);
    expect(sizes).toEqual([10, 10, 5, 0]);
    failures = 2;
    expect(summarize(await readAll(server, { from: 'start' }))).toEqual([...ids(0, 24)]);
    failures = 2;
    expect(summarize(await readAll(server, { from: 'last', count: 3 }))).toEqual([...ids(22, 24)]);
  });
});

describe('a history of which the service sends the newest messages, the oldest of them first', () => {
  /** What the service says beside the newest 3 of 8. */
  const newest = async (more: object) => {
    const server = await historyServer();
    server.add('s', 8);
    server.behave(({ json }, wellBehaved) => json(200, { results: wellBehaved().slice(-3), ...more }));
    return server;
  };

  it.each([
    { has_previous: true },
    { hasEarlier: true, next_cursor: null },
    { has_more_before: true },
    { pageInfo: { hasNextPage: false, hasPreviousPage: true, startCursor: 'a', endCursor: 'b' } },
  ])('is not reported as complete if it says that others come before: %j', async (more) => {
    const server = await newest(more);
    expect(await readAll(server, { from: 'start' })).toContainEqual(
      expect.objectContaining({ kind: 'gap', isCertain: true }),
    );
    expect(summarize(await readAll(server, { from: 'last', count: 3 }))).toEqual([...ids(5, 7)]);
    expect(summarize(await readAll(server, { from: 'after', message_id: 's-4' }))).toEqual([...ids(5, 7)]);
  });

  it.each([
    { previous: null, next: null, has_previous: false },
    { pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: 'a', endCursor: 'b' } },
    { paging: { cursors: { before: 'a', after: 'b' } } },
    { links: { prev: '?page=0', first: '?page=1' } },
    { prev_cursor: 'abc', next_cursor: null },
  ])('is complete otherwise: %j', async (more) => {
    const shown = summarize(await readAll(await newest(more), { from: 'start' }));
    expect(shown).toEqual([...ids(5, 7)]);
  });
});

describe('a total that is larger than what was sent', () => {
  async function stating(total: number) {
    const server = await historyServer();
    server.add('s', 7);
    server.behave(({ json }, wellBehaved) => json(200, { results: wellBehaved().slice(0, 3), total }));
    return server;
  }

  it('is reported while following, but not once further pages reach the total', async () => {
    const events = followSessions(followDeps((await stating(9)).baseUrl), { s: { from: 'start' } });
    expect(summarize(await until(events, ({ kind }) => kind === 'gap'))).toEqual([...ids(0, 6), 'gap']);
    await events.return();
    expect(summarize(await readAll(await stating(7), { from: 'start' }))).toEqual([...ids(0, 6)]);
  });
});

describe('a history that is truncated without saying so', () => {
  async function cut(count: number, size: number) {
    const server = await historyServer();
    server.add('s', count);
    server.behave(({ json }, wellBehaved) => json(200, wellBehaved().slice(0, size)));
    return server;
  }

  it('is read to its end before its last messages are shown', async () => {
    const server = await cut(25, 4);
    const events = followSessions(followDeps(server.baseUrl), { s: { from: 'last', count: 3 } });
    const first = await until(events, ({ kind }) => kind === 'caught-up');
    expect(summarize(first)).toEqual(ids(22, 24));
    server.add('s', 1);
    const later = await until(events, ({ kind }) => kind === 'message');
    expect(later.at(-1)).toMatchObject({ kind: 'message', isBacklog: false });
    await events.return();
  });
});

it('a history in which people repeat themselves is read completely, page after page', async () => {
  const server = await historyServer();
  const entries = Array.from({ length: 12 }, (_, index) => ({ message_id: `s-${index}`, role: 'user', text: 'ok' }));
  for (const flag of [{}, { has_more: true }]) {
    server.behave(({ json, after }) => {
      const from = entries.findIndex(({ message_id }) => message_id === after) + 1;
      const rest = entries.slice(from);
      json(200, { results: rest.slice(0, 2), ...(rest.length > 2 && flag) });
    });
    expect(summarize(await readAll(server, { from: 'start' }))).toEqual([...ids(0, 11)]);
  }
});

it.each([
  ['links', 2],
  ['links', 3],
  ['links', 4],
  ['the last message', 2],
  ['the last message', 3],
])('a history that continues by %s over %i pages is read without a pause', async (way, pages) => {
  const server = await historyServer();
  server.add('s', pages * 2);
  server.behave(({ json, url }, wellBehaved) => {
    const skip = Number(url.searchParams.get('skip') ?? 0);
    const rest = wellBehaved().slice(skip);
    const isMore = rest.length > 2;
    const more = way === 'links' ? { next: isMore ? nextPath(url, 'skip', skip + 2) : null } : { has_more: isMore };
    json(200, { results: rest.slice(0, 2), ...more });
  });
  expect(summarize(await readAll(server, { from: 'start' }))).toEqual([...ids(0, pages * 2 - 1)]);
  expect(server.requests).toHaveLength(pages + 1);
});

describe('a history whose links leave out the parameters of the request', () => {
  /** Pages of two messages of one session, or of all sessions where the request names none. */
  async function forgetful() {
    const server = await historyServer();
    server.add('other', 9);
    server.add('s', 7);
    server.behave(({ json, url, session, after }) => {
      const all = session === '' ? [...server.sessions.values()].flat() : (server.sessions.get(session) ?? []);
      const rest = all.slice(all.findIndex(({ message_id }) => message_id === after) + 1);
      const page = Number(url.searchParams.get('page') ?? 1);
      const next = page * 2 < rest.length ? `${url.pathname}?page=${page + 1}` : null;
      json(200, { results: rest.slice((page - 1) * 2, page * 2), next });
    });
    return server;
  }

  it('has no message of another session', async () => {
    const server = await forgetful();
    expect(summarize(await readAll(server, { from: 'start' }))).toEqual([...ids(0, 6)]);
    expect(server.requests.every(({ session }) => session === 's')).toBe(true);
  });

  it('has no message from before the one to read after', async () => {
    const server = await forgetful();
    const shown = summarize(await readAll(server, { from: 'after', message_id: 's-1' }));
    expect(shown).toEqual([...ids(2, 6)]);
  });

  it('is read by a link as it is where the service takes no other parameters there', async () => {
    const server = await historyServer();
    server.add('s', 7);
    server.behave(({ json, url }, wellBehaved) => {
      const token = url.searchParams.get('token');
      if (token !== null && url.searchParams.size > 1) return json(400, { detail: 'token takes no other parameters' });
      const all = token === null ? wellBehaved() : (server.sessions.get('s') ?? []);
      const from = Number(token ?? 0);
      json(200, { results: all.slice(from, from + 2), next: from + 2 < all.length ? `?token=${from + 2}` : null });
    });
    expect(summarize(await readAll(server, { from: 'start' }))).toEqual([...ids(0, 6)]);
  });

  it.each(['session_id', 'after_message_id'])('is read by a token that gives way to %s', async (preferred) => {
    const server = await historyServer();
    server.add('s', 7);
    server.behave(({ json, url }, wellBehaved) => {
      const token = url.searchParams.has(preferred) ? null : url.searchParams.get('token');
      const [start = '', from = '0'] = token?.split(',') ?? [url.searchParams.get('after_message_id') ?? ''];
      const all = token === null ? wellBehaved() : (server.sessions.get('s') ?? []);
      const rest = all.slice(token === null ? 0 : all.findIndex(({ message_id }) => message_id === start) + 1);
      const end = Number(from) + 2;
      json(200, { results: rest.slice(end - 2, end), next: end < rest.length ? `?token=${start},${end}` : null });
    });
    const shown = summarize(await readAll(server, { from: 'after', message_id: 's-1' }));
    expect(shown).toEqual([...ids(2, 6)]);
  });
});

it('a reply that is announced without a text is waited for', async () => {
  const server = await historyServer();
  server.add('s', 1, 'user');
  const reply = { message_id: 's-1', role: 'assistant', text: '', status: 'pending' } as const;
  let reads = 0;
  server.behave(({ json, after }) => {
    reads += 1;
    const written = reads < 4 ? reply : { ...reply, text: 'Here it is.', status: 'done' };
    json(200, { results: after === 's-1' ? [] : [written] });
  });
  const events = followSessions(followDeps(server.baseUrl), { s: { from: 'after', message_id: 's-0' } });
  const shown = await until(events, ({ kind }) => kind === 'message');
  await events.return();
  const texts = shown.flatMap((event) => (event.kind === 'message' ? [event.message.text] : []));
  expect(texts).toEqual(['Here it is.']);
});

it('a resumed tail loses nothing when a further page fails', async () => {
  const server = await historyServer();
  server.add('s', 12);
  let hasFailed = false;
  server.behave(({ json, url }, wellBehaved) => {
    const skip = Number(url.searchParams.get('skip') ?? 0);
    if (skip > 0 && !hasFailed) {
      hasFailed = true;
      json(503, {});
      return;
    }
    const isMore = wellBehaved().length > skip + 2;
    json(200, {
      results: wellBehaved().slice(skip, skip + 2),
      next: isMore ? nextPath(url, 'skip', skip + 2) : null,
    });
  });
  const begin: FollowStart = { from: 'after', message_id: 's-4', recent: ['s-1', 's-2', 's-3'] };
  const shown = summarize(await readAll(server, begin));
  expect(shown.filter((text) => text.startsWith('+'))).toEqual(ids(5, 11));
});

describe('a history without times', () => {
  const of = async (ids: readonly string[]) => {
    const server = await historyServer();
    const results = ids.map((message_id) => ({ message_id, role: 'user', text: message_id }));
    server.behave(({ json, after }) => json(200, { results: after === undefined ? results : [], next: null }));
    const warnings: string[] = [];
    const deps = followDeps(server.baseUrl);
    const { http } = client(server.baseUrl, { clock: deps.clock, onWarning: (text) => warnings.push(text) });
    const events = followSessions({ ...deps, http }, { s: { from: 'start' } }, { once: true });
    return { shown: summarize(await untilEnd(events)), warnings };
  };

  it('whose ids have 19 digits comes out oldest first, though the service sends the newest first', async () => {
    const { shown, warnings } = await of(['9007199254740993002', '9007199254740993001', '9007199254740993000']);
    expect(shown).toEqual(['+9007199254740993000', '+9007199254740993001', '+9007199254740993002']);
    expect(warnings).toEqual([]);
  });

  it('whose ids tell nothing is shown as it is, with one warning', async () => {
    const { shown, warnings } = await of(['b', 'c', 'a']);
    expect(shown).toEqual(['+b', '+c', '+a']);
    expect(warnings).toEqual([expect.stringContaining('The order of the messages is not known')]);
  });
});
