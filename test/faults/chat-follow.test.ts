import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { follow } from '../../src/chat/follow.ts';
import type { FollowEvent, FollowOptions, FollowStart } from '../../src/chat/types.ts';
import { systemClock } from '../../src/clock.ts';
import { BalanceError, CredentialsError, NotFoundError, ServiceError, ShapeError } from '../../src/errors.ts';
import { readCheckpoints, TailCheckpoint } from '../../src/state/checkpoint.ts';
import { randomRecordId } from '../../src/state/record.ts';
import { fastClock, tempDirectory } from '../helpers/run.ts';
import { followDeps, type HistoryRequest, historyServer, summarize, until } from './history-server.ts';

function options(start: FollowStart = { from: 'start' }, changes: Partial<FollowOptions> = {}): FollowOptions {
  return { source_id: 'src', sessions: [{ session_id: 's', start }], follow: true, ...changes };
}

function isMessage(id: string): (event: FollowEvent) => boolean {
  return (event) => event.kind === 'message' && event.message.message_id === id;
}

const isEnd = (event: FollowEvent): boolean => event.kind === 'end';

describe('following starts', () => {
  it.each<[string, FollowStart, string[]]>([
    ['at the start', { from: 'start' }, ['+s-0', '+s-1', '+s-2', '+s-3']],
    ['behind a message', { from: 'after', message_id: 's-1' }, ['+s-2', '+s-3']],
    ['behind a remembered place', { from: 'after', message_id: 's-2', recent: ['s-0', 's-1'] }, ['+s-3']],
    ['with the last', { from: 'last', count: 2 }, ['+s-2', '+s-3']],
    ['with more of the last than there are', { from: 'last', count: 10 }, ['+s-0', '+s-1', '+s-2', '+s-3']],
    ['now', { from: 'last', count: 0 }, []],
  ])('%s', async (_, start, expected) => {
    const server = await historyServer();
    server.add('s', 4);
    const read = follow(followDeps(server.baseUrl), options(start, { follow: false }));
    expect(summarize(await until(read.events, isEnd))).toEqual([...expected, 'end:caught-up']);
    const { events } = follow(followDeps(server.baseUrl), options(start));
    if (expected.length > 0) expect(summarize(await until(events, isMessage('s-3')))).toEqual(expected);
    else void server.nextRequest(() => server.requests.length === 4).then(() => server.add('s', 1));
    if (expected.length > 0) server.add('s', 1);
    expect(summarize(await until(events, isMessage('s-4')))).toEqual(['+s-4']);
    await events.return();
  });

  it('sends the source, the session, and the cursor', async () => {
    const server = await historyServer();
    await until(
      follow(followDeps(server.baseUrl), options({ from: 'after', message_id: 'm&1' }, { follow: false })).events,
      isEnd,
    );
    const [first] = server.requests;
    expect(first?.url.pathname).toBe('/v1/integrations/api-chat/history/');
    expect(Object.fromEntries(first?.url.searchParams ?? [])).toEqual({
      source_id: 'src',
      session_id: 's',
      after_message_id: 'm&1',
    });
    await until(follow(followDeps(server.baseUrl), options({ from: 'start' }, { follow: false })).events, isEnd);
    expect(server.requests[1]?.url.searchParams.has('after_message_id')).toBe(false);
  });
});

describe('pages', () => {
  it('are read by their links, or after the last message if there are no links', async () => {
    const server = await historyServer();
    server.add('s', 25);
    server.behave(({ json, url }, wellBehaved) => {
      const results = wellBehaved().slice(0, 10);
      const next = new URL(url);
      next.searchParams.set('after_message_id', results.at(-1)?.message_id ?? '');
      json(200, { results, next: results.length < 10 ? null : next.pathname + next.search });
    });
    const all = Array.from({ length: 25 }, (_, index) => `+s-${index}`);
    const linked = follow(followDeps(server.baseUrl), options({ from: 'start' }, { follow: false }));
    expect(summarize(await until(linked.events, isEnd))).toEqual([...all, 'end:caught-up']);
    server.behave(({ json }, wellBehaved) =>
      json(200, { results: wellBehaved().slice(0, 10), has_more: wellBehaved().length > 10 }),
    );
    const unlinked = follow(followDeps(server.baseUrl), options({ from: 'last', count: 25 }, { follow: false }));
    expect(summarize(await until(unlinked.events, isEnd))).toEqual([...all, 'end:caught-up']);
  });

  it('are continued after a failure between them, without repeats', async () => {
    const server = await historyServer();
    server.add('s', 30);
    let failures = 3;
    server.behave(({ json, request, url }, wellBehaved) => {
      if (wellBehaved().length < 20 && failures > 0) {
        failures -= 1;
        request.socket.destroy();
        return;
      }
      const results = wellBehaved().slice(0, 10);
      const next = new URL(url);
      next.searchParams.set('after_message_id', results.at(-1)?.message_id ?? '');
      json(200, { results, next: results.length < 10 ? null : next.pathname + next.search });
    });
    const { events } = follow(followDeps(server.baseUrl), options({ from: 'start' }, { follow: false }));
    const shown = summarize(await until(events, isEnd)).filter((word) => word.startsWith('+'));
    expect(shown).toEqual(Array.from({ length: 30 }, (_, index) => `+s-${index}`));
  });

  it('that link back to themselves do not stop new messages', async () => {
    const server = await historyServer();
    server.add('s', 3);
    server.behave(({ json, url }, wellBehaved) =>
      json(200, { results: wellBehaved(), next: url.pathname + url.search }),
    );
    const { events } = follow(followDeps(server.baseUrl), options());
    expect(summarize(await until(events, isMessage('s-2')))).toEqual(['+s-0', '+s-1', '+s-2']);
    server.add('s', 1);
    expect(summarize(await until(events, isMessage('s-3')))).toContain('+s-3');
    await events.return();
  });

  it.each(['heeds', 'ignores'])(
    'that lead back to themselves end a reading, when the service %s the cursor',
    async (habit) => {
      const server = await historyServer();
      server.add('s', 3);
      server.behave(({ json, url }, wellBehaved) => {
        const results = habit === 'heeds' ? wellBehaved() : server.sessions.get('s');
        json(200, { results, next: url.pathname + url.search });
      });
      const { events } = follow(followDeps(server.baseUrl), options({ from: 'start' }, { follow: false }));
      expect(summarize(await until(events, isEnd))).toEqual(['+s-0', '+s-1', '+s-2', 'end:caught-up']);
    },
  );
});

describe('an outage', () => {
  it('is reported once, and its end with the number of missed messages', async () => {
    const server = await historyServer();
    server.add('s', 1);
    const { events } = follow(followDeps(server.baseUrl), options());
    await until(events, isMessage('s-0'));
    await server.stop();
    const lost = await until(events, ({ kind }) => kind === 'outage-started');
    expect(summarize(lost)).toEqual(['outage-started']);
    server.add('s', 3);
    const more = until(events, ({ kind }) => kind === 'outage-ended');
    await server.restart();
    const back = await more;
    expect(summarize(back)).toEqual(['+s-1', '+s-2', '+s-3', 'outage-ended']);
    expect(back.at(-1)).toMatchObject({ missed: 3, outageMs: expect.any(Number) });
    await events.return();
  });

  it('is not reported for a single reset, error, cut body, or unreadable body', async () => {
    const server = await historyServer();
    const faults: ((request: HistoryRequest) => void)[] = [
      ({ request }) => request.socket.destroy(),
      ({ json }) => json(503, { detail: 'later' }),
      ({ response, request }) => {
        response.writeHead(200, { 'content-length': '1000' }).write('{"results":[');
        setImmediate(() => request.socket.destroy());
      },
      ({ response }) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      ({ json }) => json(429, {}, { 'retry-after': '1' }),
    ];
    let polls = 0;
    server.behave((request, wellBehaved) => {
      const fault = polls % 2 === 0 ? faults[(polls / 2) % faults.length] : undefined;
      polls += 1;
      server.add('s', 1);
      if (fault) fault(request);
      else request.json(200, wellBehaved());
    });
    const { events } = follow(followDeps(server.baseUrl), options({ from: 'start' }, { intervalMs: 200 }));
    const shown = summarize(await until(events, isMessage('s-29')));
    expect(shown).toEqual(Array.from({ length: 30 }, (_, index) => `+s-${index}`));
    await events.return();
  });

  it('ends with exit 8 when it exceeds maxOutageMs', async () => {
    const server = await historyServer();
    server.behave(({ json }) => json(503, { detail: 'down for maintenance' }));
    const { events } = follow(followDeps(server.baseUrl), options({ from: 'start' }, { maxOutageMs: 8000 }));
    const pulled: FollowEvent[] = [];
    const ended = until(events, (event) => {
      pulled.push(event);
      return false;
    });
    await expect(ended).rejects.toThrow(ServiceError);
    await expect(ended).rejects.toMatchObject({
      exitCode: 8,
      info: { status: 503, why: expect.stringContaining('down for maintenance') },
    });
    expect(summarize(pulled)).toEqual(['outage-started']);
    expect(server.requests.length).toBeGreaterThan(3);
  });

  it.each<[string, (request: HistoryRequest) => void]>([
    ['a page that is not JSON', ({ response }) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')],
    ['a shape', ({ json }) => json(200, { results: [{ text: 'without an id' }] })],
    ['a redirect', ({ response }) => response.writeHead(302, { location: 'https://elsewhere.test/' }).end()],
    ['a 404', ({ json }) => json(404, { code: 'source_not_found' })],
    ['a 400', ({ json }) => json(400, { code: 'bad' })],
  ])('is assumed for %s once the session has been read', async (_, fault) => {
    const server = await historyServer();
    server.add('s', 3);
    const { events } = follow(followDeps(server.baseUrl), options());
    await until(events, isMessage('s-2'));
    server.behave(fault);
    expect(summarize(await until(events, ({ kind }) => kind === 'outage-started'))).toEqual(['outage-started']);
    server.behave(undefined);
    server.add('s', 1);
    expect(summarize(await until(events, ({ kind }) => kind === 'outage-ended'))).toEqual(['+s-3', 'outage-ended']);
    await events.return();
  });

  it('ends after a poll that stalls', async () => {
    const server = await historyServer();
    server.add('s', 1);
    let stalls = 1;
    server.behave(({ json }, wellBehaved) => {
      if (stalls > 0) stalls -= 1;
      else json(200, wellBehaved());
    });
    const parts = followDeps(server.baseUrl, systemClock);
    const { events } = follow(parts, options({ from: 'start' }, { pollTimeoutMs: 200 }));
    const shown = summarize(await until(events, isMessage('s-0')));
    // On a busy machine so short a limit may strike again, until the line is called lost.
    expect(shown.filter((word) => word.startsWith('+'))).toEqual(['+s-0']);
    await events.return();
  });
});

describe('a permanent failure', () => {
  it.each([
    [401, CredentialsError, 3],
    [403, CredentialsError, 3],
    [402, BalanceError, 6],
  ])('is status %i, at once', async (status, kind, exitCode) => {
    const server = await historyServer();
    server.add('s', 1);
    const { events } = follow(followDeps(server.baseUrl), options({ from: 'last', count: 10 }));
    await until(events, isMessage('s-0'));
    server.behave(({ json }) => json(status, { code: 'no', message: 'No.' }));
    const ended = until(events, () => false);
    await expect(ended).rejects.toThrow(kind);
    await expect(ended).rejects.toMatchObject({ exitCode, info: { status } });
    expect(server.requests.length).toBeLessThanOrEqual(5);
  });

  it('is an unknown shape, after three attempts', async () => {
    const server = await historyServer();
    server.behave(({ json }) => json(200, { results: [{ text: 'without an id' }] }));
    const { events } = follow(followDeps(server.baseUrl), options());
    await expect(until(events, () => false)).rejects.toThrow(ShapeError);
    expect(server.requests).toHaveLength(3);
  });

  it('is a redirect', async () => {
    const server = await historyServer();
    server.behave(({ response }) => response.writeHead(302, { location: 'https://elsewhere.test/' }).end());
    await expect(until(follow(followDeps(server.baseUrl), options()).events, () => false)).rejects.toThrow(/redirects/);
    expect(server.requests).toHaveLength(1);
  });

  it('is an unknown source', async () => {
    const server = await historyServer();
    server.behave(({ json }) => json(404, { code: 'source_not_found' }));
    await expect(until(follow(followDeps(server.baseUrl), options()).events, () => false)).rejects.toThrow(
      NotFoundError,
    );
    expect(server.requests).toHaveLength(1);
  });

  it('is an unknown message to start after', async () => {
    const server = await historyServer();
    server.behave(({ json }) => json(404, { code: 'unknown_message' }));
    const { events } = follow(followDeps(server.baseUrl), options({ from: 'after', message_id: 'gone' }));
    await expect(until(events, () => false)).rejects.toThrow(NotFoundError);
    expect(server.requests).toHaveLength(1);
  });
});

describe('a session that the service does not know yet', () => {
  it('is treated as empty', async () => {
    const server = await historyServer();
    server.behave(({ json }, wellBehaved) =>
      server.sessions.has('s') ? json(200, wellBehaved()) : json(404, { code: 'session_not_found' }),
    );
    const read = follow(followDeps(server.baseUrl), options({ from: 'start' }, { follow: false }));
    expect(summarize(await until(read.events, isEnd))).toEqual(['unknown-session', 'end:caught-up']);
    const { events } = follow(followDeps(server.baseUrl), options({ from: 'last', count: 0 }));
    void server.nextRequest(() => server.requests.length === 3).then(() => server.add('s', 1));
    const told = await until(events, isMessage('s-0'));
    expect(told.at(-1)).toMatchObject({ kind: 'message', isBacklog: false });
    await events.return();
  });
});

describe('a service that ignores cursors', () => {
  it.each([true, false])('is shown once and not polled without a pause (pages: %s)', async (isPaged) => {
    const server = await historyServer();
    const entries = Array.from({ length: 2_500 }, (_, index) => ({
      message_id: `m${index}`,
      role: 'assistant',
      text: 'x',
    }));
    server.behave(({ json, url }) => {
      const at = Number(url.searchParams.get('at') ?? 0);
      const end = isPaged ? at + 500 : entries.length;
      const next = new URL(url);
      next.searchParams.set('at', String(end));
      json(200, { results: entries.slice(at, end), next: end < entries.length ? next.pathname + next.search : null });
    });
    const { events } = follow(
      followDeps(server.baseUrl, fastClock()),
      options({ from: 'start' }, { timeoutMs: 12_000 }),
    );
    const shown = summarize(await until(events, isEnd));
    expect(shown).toEqual([...entries.map(({ message_id }) => `+${message_id}`), 'end:timeout']);
    expect(server.requests.length).toBeLessThan(isPaged ? 120 : 24);
  });

  it('and always announces more is not polled without a pause', async () => {
    const server = await historyServer();
    let turn = 0;
    server.behave(({ json }) => {
      turn += 1;
      const results = ['a', 'b'].map((message_id) => ({ message_id, role: 'assistant', text: 'x' }));
      json(200, { results: turn % 2 === 0 ? results : results.reverse(), has_more: true });
    });
    const { events } = follow(
      followDeps(server.baseUrl, fastClock()),
      options({ from: 'start' }, { timeoutMs: 6_000 }),
    );
    const shown = summarize(await until(events, isEnd));
    expect(shown.filter((word) => word.startsWith('+'))).toHaveLength(2);
    expect(server.requests.length).toBeLessThan(30);
  });
});

describe('a service that is particular about cursors', () => {
  it.each([404, 410, 422])('and refuses all but the newest with %i still delivers every message', async (status) => {
    const server = await historyServer();
    server.add('s', 3);
    server.behave(({ json, after }, wellBehaved) => {
      const newest = server.sessions.get('s')?.findLastIndex(({ message_id }) => message_id === after) ?? -1;
      if (after !== undefined && newest < (server.sessions.get('s')?.length ?? 0) - 2) json(status, {});
      else json(200, wellBehaved());
    });
    const { events } = follow(followDeps(server.baseUrl), options({ from: 'last', count: 2 }));
    expect(summarize(await until(events, isMessage('s-2')))).toEqual(['+s-1', '+s-2']);
    server.add('s', 1);
    expect(summarize(await until(events, isMessage('s-3')))).toEqual(['+s-3']);
    server.add('s', 1);
    expect(summarize(await until(events, isMessage('s-4')))).toEqual(['+s-4']);
    await events.return();
  });
});

describe('the end', () => {
  it('comes with a reply to the given message, even if it already existed', async () => {
    const server = await historyServer();
    server.add('s', 1, 'user');
    server.add('s', 1);
    const wanted = options({ from: 'after', message_id: 's-0' }, { until: { replies: 1 }, expectsReply: true });
    expect(summarize(await until(follow(followDeps(server.baseUrl), wanted).events, isEnd))).toEqual([
      '+s-1',
      'end:replied',
    ]);
  });

  it('comes after the wanted number of new replies, not counting existing ones', async () => {
    const server = await historyServer();
    server.add('s', 2);
    const { events } = follow(
      followDeps(server.baseUrl),
      options({ from: 'last', count: 1 }, { until: { replies: 2 } }),
    );
    await until(events, isMessage('s-1'));
    server.add('s', 1);
    server.add('s', 1, 'user');
    server.add('s', 2);
    expect(summarize(await until(events, isEnd))).toEqual(['+s-2', '+s-3', '+s-4', 'end:replied']);
  });

  it('comes with a reply created right after the backlog was read', async () => {
    const server = await historyServer();
    server.add('s', 2, 'user');
    server.behave(({ json }, wellBehaved) => {
      json(200, wellBehaved());
      // The service says when it came to exist: that tells it from a part of the history that was cut off.
      if (server.requests.length === 1) server.add('s', 1, 'assistant', new Date());
    });
    const wanted = options({ from: 'last', count: 1 }, { until: { replies: 1 }, timeoutMs: 5_000 });
    expect(summarize(await until(follow(followDeps(server.baseUrl), wanted).events, isEnd))).toEqual([
      '+s-1',
      '+s-2',
      'end:replied',
    ]);
  });

  it('comes once it is quiet after the first reply, with settleMs', async () => {
    const server = await historyServer();
    server.add('s', 1, 'user');
    let polls = 0;
    server.behave(({ json }, wellBehaved) => {
      polls += 1;
      if (polls === 2 || polls === 4) server.add('s', 1);
      json(200, wellBehaved());
    });
    const wanted = options(
      { from: 'after', message_id: 's-0' },
      { until: { replies: 100, settleMs: 3000 }, expectsReply: true },
    );
    const parts = followDeps(server.baseUrl);
    const started = parts.clock.now();
    expect(summarize(await until(follow(parts, wanted).events, isEnd))).toEqual(['+s-1', '+s-2', 'end:replied']);
    expect(parts.clock.now() - started).toBeGreaterThanOrEqual(3000);
  });

  it('comes at the time limit, even while a poll hangs', async () => {
    const server = await historyServer();
    const idle = follow(followDeps(server.baseUrl), options({ from: 'start' }, { timeoutMs: 2000 }));
    expect(summarize(await until(idle.events, isEnd))).toEqual(['end:timeout']);
    server.behave(() => undefined);
    const hanging = follow(followDeps(server.baseUrl, systemClock), options({ from: 'start' }, { timeoutMs: 200 }));
    const started = Date.now();
    expect(summarize(await until(hanging.events, isEnd))).toEqual(['end:timeout']);
    expect(Date.now() - started).toBeLessThan(10_000);
  });

  it('comes with the interrupt: while waiting, while a poll hangs, and before the start', async () => {
    const server = await historyServer();
    server.add('s', 1);
    const idle = followDeps(server.baseUrl, systemClock);
    const first = follow(idle, options());
    await until(first.events, isMessage('s-0'));
    const end = until(first.events, isEnd);
    idle.stop();
    expect(summarize(await end)).toEqual(['end:interrupted']);

    server.behave(() => undefined);
    const hanging = followDeps(server.baseUrl, systemClock);
    const second = until(follow(hanging, options()).events, isEnd);
    const { request } = await server.nextRequest(() => true);
    const closed = new Promise<void>((resolve) => request.socket.on('close', () => resolve()));
    hanging.stop();
    expect(summarize(await second)).toEqual(['end:interrupted']);
    await closed;

    const over = followDeps(server.baseUrl);
    over.stop();
    expect(summarize(await until(follow(over, options()).events, isEnd))).toEqual(['end:interrupted']);
  });

  it('aborts running polls when the events are no longer read', async () => {
    const server = await historyServer();
    server.add('a', 1);
    const hanging = server.nextRequest(({ session }) => session === 'b');
    server.behave(({ session, json }, wellBehaved) => {
      // Only then is there a poll that could be left behind.
      if (session === 'a') void hanging.then(() => json(200, wellBehaved()));
    });
    const sessions = ['a', 'b'].map((session_id) => ({ session_id, start: { from: 'start' } as const }));
    const parts = followDeps(server.baseUrl, systemClock);
    for await (const event of follow(parts, { ...options(), sessions }).events) {
      if (event.kind === 'message') break;
    }
    const { request } = await hanging;
    if (!request.socket.destroyed) await new Promise<void>((resolve) => request.socket.on('close', () => resolve()));
  });
});

describe('the pace', () => {
  it('is fast after a message was sent, however long it was idle', async () => {
    const server = await historyServer();
    const parts = followDeps(server.baseUrl);
    const { now } = parts.clock;
    const follower = follow(parts, options({ from: 'start' }, {}));
    const shown = until(follower.events, isMessage('s-0'));
    const isIdleSince = now();
    await server.nextRequest(() => now() - isIdleSince > 600_000);
    follower.expectReply('s');
    server.add('s', 1);
    const started = now();
    expect(summarize(await shown)).toEqual(['+s-0']);
    expect(now() - started).toBeLessThan(1500);
    await follower.events.return();
  });

  it('follows Retry-After', async () => {
    const server = await historyServer();
    const parts = followDeps(server.baseUrl);
    const times: number[] = [];
    server.behave(({ json }, wellBehaved) => {
      times.push(parts.clock.now());
      server.add('s', 1);
      if (times.length === 2) json(429, {}, { 'retry-after': '7' });
      else json(200, wellBehaved(), { 'retry-after': '4' });
    });
    const { events } = follow(parts, options({ from: 'start' }, { intervalMs: 100 }));
    await until(events, isMessage('s-3'));
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? time));
    expect(pauses[0]).toBeGreaterThanOrEqual(3900);
    expect(pauses[1]).toBeGreaterThanOrEqual(6900);
    expect(pauses[2]).toBeGreaterThanOrEqual(3900);
    await events.return();
  });

  it.each([
    ['while it waited', 'nap'],
    ['over a poll', 'poll'],
  ])('catches up at once when the machine has slept %s', async (_, during) => {
    const server = await historyServer();
    let offset = 0;
    let nap = (): void => undefined;
    const napping = new Promise<void>((resolve) => {
      nap = resolve;
    });
    const clock = {
      now: () => Date.now() + offset,
      sleep: (ms: number, signal?: AbortSignal) => {
        nap();
        return systemClock.sleep(ms, signal);
      },
    };
    const { events } = follow(followDeps(server.baseUrl, clock), options({ from: 'start' }, { intervalMs: 7_200_000 }));
    const shown = until(events, isMessage('s-0'));
    await (during === 'nap' ? napping : server.nextRequest(() => true));
    server.add('s', 1);
    offset += 3_600_000;
    expect(summarize(await shown)).toEqual(['+s-0']);
    expect(server.requests).toHaveLength(2);
    await events.return();
  });
});

describe('everything at once', () => {
  it('shows everything once across many stops and resumes', async () => {
    const server = await historyServer();
    const path = join(tempDirectory(), 'state.jsonl');
    const of = { origin: server.baseUrl, source_id: 'src' };
    let turn = 0;
    server.behave(({ json, after }, wellBehaved) => {
      turn += 1;
      const entries = server.sessions.get('s') ?? [];
      const from = entries.length - wellBehaved().length;
      const results = entries.slice(after === undefined ? 0 : Math.max(0, from - (turn % 7)), from + 5);
      const [left, right] = results.slice(-2);
      if (turn % 3 === 0 && left && right) results.splice(-2, 2, right, left);
      json(200, results);
    });
    const shown: string[] = [];
    for (let run = 1; shown.length < 120; run += 1) {
      server.add('s', run % 9);
      const place = (await readCheckpoints(path, of, ['s'])).get('s');
      const start: FollowStart = place ? { from: 'after', ...place } : { from: 'start' };
      const parts = followDeps(server.baseUrl);
      const memory = new TailCheckpoint(
        { path, clock: parts.clock, newId: randomRecordId, onError: () => expect.fail() },
        of,
        new Map(place && [['s', place]]),
      );
      let room = run % 13;
      const follower = follow(parts, options(start, { timeoutMs: 4000 }));
      for await (const event of follower.events) {
        if (event.kind !== 'message') continue;
        if (room === 0) break;
        shown.push(event.message.message_id);
        memory.record('s', event.message.message_id);
        room -= 1;
      }
      await memory.close();
    }
    expect(shown).toEqual(Array.from({ length: shown.length }, (_, index) => `s-${index}`));
  });

  it('shows 5,000 messages of 20 sessions once and in order, through resets, cuts, 5xx, 429, repeats and swaps', async () => {
    const server = await historyServer();
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    const each = 250;
    let seed = 7;
    const dice = (): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed / 2147483648;
    };
    server.behave(({ session, after, json, request, response, url }, wellBehaved) => {
      const there = server.sessions.get(session)?.length ?? 0;
      server.add(session, Math.min(each - there, Math.floor(dice() * 20)));
      const chance = dice();
      if (chance < 0.06) request.socket.destroy();
      else if (chance < 0.12) json(500 + Math.floor(dice() * 4), {});
      else if (chance < 0.14) json(429, {}, dice() < 0.5 ? { 'retry-after': '1' } : {});
      else if (chance < 0.18) {
        response.writeHead(200, { 'content-length': '100000' }).write('[{"message_id":"x"');
        setImmediate(() => request.socket.destroy());
      } else {
        const entries = server.sessions.get(session) ?? [];
        const from = entries.findIndex(({ message_id }) => message_id === after) + 1;
        const results = entries.slice(Math.max(0, from - Math.floor(dice() * 6)), from + 12);
        const isLast = wellBehaved().length <= 12;
        const last = results.at(-1)?.message_id;
        for (let index = 0; index + 1 < results.length; index += 2) {
          const [left, right] = [results[index], results[index + 1]];
          if (dice() < 0.2 && left && right) results.splice(index, 2, right, left);
        }
        const next = new URL(url);
        if (last !== undefined) next.searchParams.set('after_message_id', last);
        json(200, { results, next: isLast ? null : next.pathname + next.search });
      }
    });
    const sessions = names.map((session_id) => ({ session_id, start: { from: 'start' } as const }));
    const { events } = follow(followDeps(server.baseUrl), { ...options(), sessions });
    const shown = new Map<string, string[]>(names.map((name) => [name, []]));
    let count = 0;
    for await (const event of events) {
      if (event.kind !== 'message') continue;
      shown.get(event.session_id)?.push(event.message.message_id);
      count += 1;
      if (count === names.length * each) break;
    }
    for (const name of names) {
      expect(shown.get(name)).toEqual(Array.from({ length: each }, (_, index) => `${name}-${index}`));
    }
  });
});
