import { describe, expect, it } from 'vitest';
import { follow } from '../../src/chat/follow.ts';
import type { FollowStart } from '../../src/chat/session.ts';
import type { FollowEvent, FollowOptions } from '../../src/chat/terms.ts';
import { ShapeError } from '../../src/errors.ts';
import { type HistoryServer, historyServer, partsFor, until, words } from './history-server.ts';

function options(start: FollowStart = { from: 'start' }, changes: Partial<FollowOptions> = {}): FollowOptions {
  return { source_id: 'src', sessions: [{ session_id: 's', start }], follow: true, ...changes };
}

const isEnd = (event: FollowEvent): boolean => event.kind === 'end';
const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `+s-${from + index}`);

async function read(server: HistoryServer, start: FollowStart): Promise<FollowEvent[]> {
  return until(follow(partsFor(server.baseUrl), options(start, { follow: false })).events, isEnd);
}

describe('a history that begins with the newest', () => {
  /** The newest `most` after the cursor, the newest first. */
  async function newestFirst(count: number, most: number, more: Record<string, unknown> = {}) {
    const server = await historyServer();
    server.add('s', count);
    server.behave(({ json }, wellBehaved) => json(200, { results: wellBehaved().slice(-most).reverse(), ...more }));
    return server;
  }

  it('and shows no way on may hide what is older: that is said, and not where as many as were asked for came', async () => {
    const server = await newestFirst(12, 5);
    const all = await read(server, { from: 'start' });
    expect(words(all)).toEqual([...ids(7, 11), 'gap', 'end:read']);
    expect(all).toContainEqual({ kind: 'gap', session_id: 's', seen: expect.stringContaining('5 messages came') });
    expect(words(await read(server, { from: 'last', count: 8 }))).toEqual([...ids(7, 11), 'gap', 'end:read']);
    expect(words(await read(server, { from: 'last', count: 5 }))).toEqual([...ids(7, 11), 'end:read']);
  });

  it.each([{ next: null }, { has_more: false }, { total: 5 }])(
    'is whole where the service says so: %j',
    async (more) => {
      expect(words(await read(await newestFirst(5, 5, more), { from: 'start' }))).toEqual([...ids(0, 4), 'end:read']);
    },
  );

  it('may hide what came in a burst', async () => {
    const server = await newestFirst(3, 20);
    const { events } = follow(partsFor(server.baseUrl), options({ from: 'last', count: 3 }));
    await until(events, ({ kind }) => kind === 'read');
    server.add('s', 30);
    expect(words(await until(events, ({ kind }) => kind === 'gap'))).toEqual([...ids(13, 32), 'gap']);
    await events.return();
  });

  it('is read in order over its links, the last of it too, and not again from then on', async () => {
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
      const next = new URL(url);
      next.searchParams.set('skip', String(skip + 10));
      sizes.push(results.length);
      json(200, { results, next: skip + 10 < wellBehaved().length ? next.pathname + next.search : null });
    });
    expect(words(await read(server, { from: 'start' }))).toEqual([...ids(0, 24), 'end:read']);
    expect(sizes).toEqual([10, 10, 5, 0]);
    failures = 2;
    expect(words(await read(server, { from: 'start' }))).toEqual([...ids(0, 24), 'end:read']);
    failures = 2;
    expect(words(await read(server, { from: 'last', count: 3 }))).toEqual([...ids(22, 24), 'end:read']);
  });
});

describe('a total that is larger than what came', () => {
  async function stating(total: number) {
    const server = await historyServer();
    server.add('s', 7);
    server.behave(({ json }, wellBehaved) => json(200, { results: wellBehaved().slice(0, 3), total }));
    return server;
  }

  it('is a failure where all was asked for, once what came is out', async () => {
    const server = await stating(9);
    const pulled: FollowEvent[] = [];
    const { events } = follow(partsFor(server.baseUrl), options({ from: 'start' }, { follow: false }));
    const reading = until(events, (event) => {
      pulled.push(event);
      return isEnd(event);
    });
    await expect(reading).rejects.toMatchObject({ exitCode: 8, facts: { why: expect.stringContaining('9 messages') } });
    expect(words(pulled)).toEqual(ids(0, 6));
  });

  it('is said while following, and nothing is where it was reached page after page', async () => {
    const { events } = follow(partsFor((await stating(9)).baseUrl), options());
    expect(words(await until(events, ({ kind }) => kind === 'gap'))).toEqual([...ids(0, 6), 'gap']);
    await events.return();
    expect(words(await read(await stating(7), { from: 'start' }))).toEqual([...ids(0, 6), 'end:read']);
  });
});

describe('a history that is cut without a word', () => {
  async function cut(count: number, size: number) {
    const server = await historyServer();
    server.add('s', count);
    server.behave(({ json }, wellBehaved) => json(200, wellBehaved().slice(0, size)));
    return server;
  }

  it('is read to its end before the last of it are shown', async () => {
    const server = await cut(25, 4);
    const { events } = follow(partsFor(server.baseUrl), options({ from: 'last', count: 3 }));
    const first = await until(events, ({ kind }) => kind === 'read');
    expect(words(first)).toEqual(ids(22, 24));
    server.add('s', 1);
    expect(await until(events, ({ kind }) => kind === 'message')).toMatchObject([{ backlog: false }]);
    await events.return();
  });

  it('has no new reply on its later pages', async () => {
    const server = await cut(25, 4);
    const wanted = options({ from: 'last', count: 1 }, { until: { replies: 1 }, timeoutMs: 20_000 });
    const { events } = follow(partsFor(server.baseUrl), wanted);
    expect(words(await until(events, ({ kind }) => kind === 'read'))).toEqual(['+s-24']);
    server.add('s', 1);
    expect(words(await until(events, isEnd))).toEqual(['+s-25', 'end:replied']);
  });
});

describe('a service that gives new ids in every answer', () => {
  it.each([{}, { has_more: true }])('is named as such, and not asked without end: %j', async (more) => {
    const server = await historyServer();
    let given = 0;
    server.behave(({ json }) => {
      const results = ['Hello', 'Hi!'].map((text) => {
        given += 1;
        return { message_id: `new-${given}`, role: 'assistant', text };
      });
      json(200, { results, ...more });
    });
    const { events } = follow(partsFor(server.baseUrl), options({ from: 'start' }, { timeoutMs: 20_000 }));
    const pulled: FollowEvent[] = [];
    const reading = until(events, (event) => {
      pulled.push(event);
      return isEnd(event);
    });
    await expect(reading).rejects.toThrow(ShapeError);
    await expect(reading).rejects.toThrow(/new ids in every answer/);
    expect(words(pulled)).toEqual(['+new-1', '+new-2']);
    expect(server.asked).toHaveLength(3);
  });

  it('is not meant where people repeat themselves, page after page', async () => {
    const server = await historyServer();
    const entries = Array.from({ length: 12 }, (_, index) => ({ message_id: `s-${index}`, role: 'user', text: 'ok' }));
    server.behave(({ json, after }) => {
      const from = entries.findIndex(({ message_id }) => message_id === after) + 1;
      json(200, { results: entries.slice(from, from + 2), has_more: from + 2 < entries.length });
    });
    expect(words(await read(server, { from: 'start' }))).toEqual([...ids(0, 11), 'end:read']);
    server.behave(({ json, after }) => {
      const from = entries.findIndex(({ message_id }) => message_id === after) + 1;
      json(200, entries.slice(from, from + 2));
    });
    expect(words(await read(server, { from: 'start' }))).toEqual([...ids(0, 11), 'end:read']);
  });
});

describe('a session that the service does not know', () => {
  it('is said to be so, once, with and without following', async () => {
    const server = await historyServer();
    server.behave(({ json }) => json(404, { detail: 'Not found.' }));
    expect(words(await read(server, { from: 'start' }))).toEqual(['unknown', 'end:read']);
    const { events } = follow(partsFor(server.baseUrl), options({ from: 'last', count: 2 }, { timeoutMs: 9_000 }));
    expect(words(await until(events, isEnd))).toEqual(['unknown', 'end:timeout']);
    expect(server.asked.length).toBeGreaterThan(3);
  });
});
