import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/chat/follow.ts';
import type { FollowStart } from '../../src/chat/session.ts';
import { systemClock } from '../../src/clock.ts';
import { ShapeError } from '../../src/errors.ts';
import { type HistoryRequest, historyServer, nextPath, stallingClock } from '../support/history-server.ts';
import { fastClock } from '../support/run.ts';
import { followDeps, followSessions, readAll, summarize, until, untilEnd } from './following.ts';

function isMessage(id: string): (event: SessionEvent) => boolean {
  return (event) => event.kind === 'message' && event.message.message_id === id;
}

describe('following starts', () => {
  it.each<[string, FollowStart, string[]]>([
    ['at the first message', { from: 'start' }, ['+s-0', '+s-1', '+s-2', '+s-3']],
    ['after a message', { from: 'after', message_id: 's-1' }, ['+s-2', '+s-3']],
    ['after a checkpoint', { from: 'after', message_id: 's-2', recent: ['s-0', 's-1'] }, ['+s-3']],
    ['with the last messages', { from: 'last', count: 2 }, ['+s-2', '+s-3']],
    ['with more of the last messages than there are', { from: 'last', count: 10 }, ['+s-0', '+s-1', '+s-2', '+s-3']],
    ['now', { from: 'last', count: 0 }, []],
  ])('%s', async (_, start, expected) => {
    const server = await historyServer();
    server.add('s', 4);
    expect(summarize(await readAll(server, start))).toEqual([...expected]);
    const events = followSessions(followDeps(server.baseUrl), { s: start });
    if (expected.length > 0) expect(summarize(await until(events, isMessage('s-3')))).toEqual(expected);
    else void server.nextRequest(() => server.requests.length === 4).then(() => server.add('s', 1));
    if (expected.length > 0) server.add('s', 1);
    expect(summarize(await until(events, isMessage('s-4')))).toEqual(['+s-4']);
    await events.return();
  });
});

describe('pages of a history', () => {
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
      const next = nextPath(url, 'after_message_id', results.at(-1)?.message_id ?? '');
      json(200, { results, next: results.length < 10 ? null : next });
    });
    const shown = summarize(await readAll(server, { from: 'start' })).filter((text) => text.startsWith('+'));
    expect(shown).toEqual(Array.from({ length: 30 }, (_, index) => `+s-${index}`));
  });

  it('that link back to themselves do not block new messages', async () => {
    const server = await historyServer();
    server.add('s', 3);
    server.behave(({ json, url }, wellBehaved) =>
      json(200, { results: wellBehaved(), next: url.pathname + url.search }),
    );
    const events = followSessions(followDeps(server.baseUrl), { s: { from: 'start' } });
    expect(summarize(await until(events, isMessage('s-2')))).toEqual(['+s-0', '+s-1', '+s-2']);
    server.add('s', 1);
    expect(summarize(await until(events, isMessage('s-3')))).toContain('+s-3');
    await events.return();
  });

  it.each(['heeds', 'ignores'])(
    'that link back to themselves end the read, if the service %s the cursor',
    async (habit) => {
      const server = await historyServer();
      server.add('s', 3);
      server.behave(({ json, url }, wellBehaved) => {
        const results = habit === 'heeds' ? wellBehaved() : server.sessions.get('s');
        json(200, { results, next: url.pathname + url.search });
      });
      expect(summarize(await readAll(server, { from: 'start' }))).toEqual(['+s-0', '+s-1', '+s-2']);
    },
  );
});

describe('an outage', () => {
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
    const events = followSessions(followDeps(server.baseUrl), { s: { from: 'start' } }, { intervalMs: 200 });
    const shown = summarize(await until(events, isMessage('s-29')));
    expect(shown).toEqual(Array.from({ length: 30 }, (_, index) => `+s-${index}`));
    await events.return();
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
    const events = followSessions(followDeps(server.baseUrl), { s: { from: 'start' } });
    await until(events, isMessage('s-2'));
    server.behave(fault);
    expect(summarize(await until(events, ({ kind }) => kind === 'outage'))).toEqual(['outage']);
    server.behave(undefined);
    server.add('s', 1);
    expect(summarize(await until(events, ({ kind }) => kind === 'recovered'))).toEqual(['+s-3', 'recovered']);
    await events.return();
  });

  it('ends after a poll that stalls', async () => {
    const server = await historyServer();
    server.add('s', 1);
    const clock = stallingClock();
    server.behave((request, wellBehaved) => {
      if (server.requests.length === 1) void clock.stall(request);
      else request.json(200, wellBehaved());
    });
    const events = followSessions(followDeps(server.baseUrl, clock), { s: { from: 'start' } });
    expect(summarize(await until(events, ({ kind }) => kind === 'recovered'))).toEqual(['outage', '+s-0', 'recovered']);
    await events.return();
  });

  it('lasts while a further page fails, although the pages before it can be read', async () => {
    const server = await historyServer();
    server.add('s', 3);
    // Pages of messages with the same time are held until it is known which is the oldest.
    server.add('s', 6, 'assistant', new Date());
    server.behave(({ json, url }, wellBehaved) => {
      if (url.searchParams.has('page')) json(422, {});
      else json(200, { results: wellBehaved().slice(0, 3), next: nextPath(url, 'page', 2) });
    });
    await expect(readAll(server, { from: 'start' })).rejects.toThrow('The service has been out of reach for 30 s.');
    const events = followSessions(followDeps(server.baseUrl), { s: { from: 'start' } });
    expect(summarize(await until(events, ({ kind }) => kind === 'outage'))).toContain('outage');
    await events.return();
  });
});

describe('a poll that stalls', () => {
  /** Follows a service that fails immediately `failures` times, and then stalls. @returns the duration of each stall */
  async function stalling(failures: number, stalls: number): Promise<readonly number[]> {
    const server = await historyServer();
    const clock = stallingClock();
    const durations: number[] = [];
    server.behave(async (request, wellBehaved) => {
      if (server.requests.length <= failures) request.json(500, {});
      else if (durations.length < stalls) {
        durations.push(await clock.stall(request));
        if (durations.length === stalls) server.add('s', 1);
      } else request.json(200, wellBehaved());
    });
    const events = followSessions(followDeps(server.baseUrl, clock), { s: { from: 'start' } });
    await until(events, isMessage('s-0'));
    await events.return();
    return durations;
  }

  it('is abandoned after 15 s, each time', async () => {
    expect(await stalling(0, 2)).toEqual([15_000, 15_000]);
  });

  it('is abandoned after 15 s, regardless of earlier immediate failures', async () => {
    expect(await stalling(5, 1)).toEqual([15_000]);
  });

  it('does not outlast --max-outage', async () => {
    const server = await historyServer();
    server.add('s', 1);
    const clock = stallingClock();
    const events = followSessions(followDeps(server.baseUrl, clock), { s: { from: 'start' } }, { maxOutageMs: 5_000 });
    await until(events, isMessage('s-0'));
    let lost = 0;
    server.behave((request) => {
      lost ||= clock.now();
      void clock.stall(request);
    });
    await expect(untilEnd(events)).rejects.toMatchObject({ exitCode: 8 });
    expect(clock.now() - lost).toBeLessThanOrEqual(6_000);
  });
});

describe('a permanent failure', () => {
  it.each<[string, (request: HistoryRequest) => void, object, FollowStart?]>([
    ['a 402', ({ json }) => json(402, { code: 'no' }), { exitCode: 6 }],
    ['a 403', ({ json }) => json(403, { code: 'no' }), { exitCode: 3 }],
    [
      'a redirect',
      ({ response }) => response.writeHead(302, { location: 'https://elsewhere.test/' }).end(),
      { exitCode: 8 },
    ],
    ['an unknown source', ({ json }) => json(404, { code: 'source_not_found' }), { exitCode: 4 }],
    [
      'an unknown message to start after',
      ({ json }) => json(404, { code: 'unknown_message' }),
      { exitCode: 4 },
      { from: 'after', message_id: 'gone' },
    ],
  ])('is %s, after one request', async (_, fault, error, start = { from: 'start' }) => {
    const server = await historyServer();
    server.behave(fault);
    const events = followSessions(followDeps(server.baseUrl), { s: start });
    await expect(untilEnd(events)).rejects.toMatchObject(error);
    expect(server.requests).toHaveLength(1);
  });

  it('is a 402 of a session that has been read', async () => {
    const server = await historyServer();
    server.add('s', 1);
    const events = followSessions(followDeps(server.baseUrl), { s: { from: 'last', count: 10 } });
    await until(events, isMessage('s-0'));
    server.behave(({ json }) => json(402, {}));
    await expect(untilEnd(events)).rejects.toMatchObject({ exitCode: 6, info: { status: 402 } });
  });

  it('is an unknown shape, after one request', async () => {
    const server = await historyServer();
    server.behave(({ json }) => json(200, { results: [{ text: 'without an id' }] }));
    const events = followSessions(followDeps(server.baseUrl), { s: { from: 'start' } });
    await expect(untilEnd(events)).rejects.toThrow(ShapeError);
    expect(server.requests).toHaveLength(1);
  });
});

describe('a session that does not exist at the service yet', () => {
  it('is treated as empty', async () => {
    const server = await historyServer();
    server.behave(({ json }, wellBehaved) =>
      server.sessions.has('s') ? json(200, wellBehaved()) : json(404, { code: 'session_not_found' }),
    );
    expect(summarize(await readAll(server, { from: 'start' }))).toEqual(['unknown-session']);
    const events = followSessions(followDeps(server.baseUrl), { s: { from: 'last', count: 0 } });
    void server.nextRequest(() => server.requests.length === 3).then(() => server.add('s', 1));
    const told = await until(events, isMessage('s-0'));
    expect(told.at(-1)).toMatchObject({ kind: 'message', isBacklog: false });
    await events.return();
  });
});

it('a 404 page of a gateway is an outage, not a session that does not exist yet', async () => {
  const server = await historyServer();
  server.add('s', 1);
  const page = ({ response }: HistoryRequest) =>
    response.writeHead(404, { 'content-type': 'text/html' }).end('<html><title>404 Not Found</title></html>');
  server.behave(page);
  await expect(readAll(server, { from: 'start' })).rejects.toMatchObject({ exitCode: 8, info: { status: 404 } });
  server.behave((request, wellBehaved) => {
    if (server.requests.length % 2 === 0) page(request);
    else request.json(200, wellBehaved());
  });
  expect(summarize(await readAll(server, { from: 'start' }))).toEqual(['+s-0']);
});

describe('a service that ignores cursors', () => {
  it.each([true, false])(
    'has each message shown once, and is polled only after a pause (pages: %s)',
    async (isPaged) => {
      const server = await historyServer();
      const entries = Array.from({ length: 1_500 }, (_, index) => ({
        message_id: `m${index}`,
        role: 'assistant',
        text: 'x',
      }));
      server.behave(({ json, url }) => {
        const at = Number(url.searchParams.get('at') ?? 0);
        const end = isPaged ? at + 500 : entries.length;
        json(200, { results: entries.slice(at, end), next: end < entries.length ? nextPath(url, 'at', end) : null });
      });
      const events = followSessions(followDeps(server.baseUrl, fastClock(), 6_000), { s: { from: 'start' } }, {});
      const shown = summarize(await untilEnd(events));
      expect(shown).toEqual([...entries.map(({ message_id }) => `+${message_id}`)]);
      expect(server.requests.length).toBeLessThan(isPaged ? 36 : 12);
    },
  );

  it('is polled only after a pause even if it always announces more', async () => {
    const server = await historyServer();
    let turn = 0;
    server.behave(({ json }) => {
      turn += 1;
      const results = ['a', 'b'].map((message_id) => ({ message_id, role: 'assistant', text: 'x' }));
      json(200, { results: turn % 2 === 0 ? results : results.reverse(), has_more: true });
    });
    const events = followSessions(followDeps(server.baseUrl, fastClock(), 6_000), { s: { from: 'start' } }, {});
    const shown = summarize(await untilEnd(events));
    expect(shown.filter((text) => text.startsWith('+'))).toHaveLength(2);
    expect(server.requests.length).toBeLessThan(30);
  });
});

describe('a service that rejects old cursors', () => {
  it.each([404, 410, 422])('still delivers every message if it rejects all but the newest with %i', async (status) => {
    const server = await historyServer();
    server.add('s', 3);
    server.behave(({ json, after }, wellBehaved) => {
      const newest = server.sessions.get('s')?.findLastIndex(({ message_id }) => message_id === after) ?? -1;
      if (after !== undefined && newest < (server.sessions.get('s')?.length ?? 0) - 2) json(status, {});
      else json(200, wellBehaved());
    });
    const events = followSessions(followDeps(server.baseUrl), { s: { from: 'last', count: 2 } });
    expect(summarize(await until(events, isMessage('s-2')))).toEqual(['+s-1', '+s-2']);
    server.add('s', 1);
    expect(summarize(await until(events, isMessage('s-3')))).toEqual(['+s-3']);
    server.add('s', 1);
    expect(summarize(await until(events, isMessage('s-4')))).toEqual(['+s-4']);
    await events.return();
  });
});

describe('following ends', () => {
  it('at the time limit, even while a poll hangs', async () => {
    const server = await historyServer();
    const idle = followSessions(followDeps(server.baseUrl, fastClock(), 2_000), { s: { from: 'start' } });
    expect(summarize(await untilEnd(idle))).toEqual([]);
    server.behave(() => undefined);
    const hanging = followSessions(followDeps(server.baseUrl, systemClock, 200), { s: { from: 'start' } });
    const started = Date.now();
    expect(summarize(await untilEnd(hanging))).toEqual([]);
    expect(Date.now() - started).toBeLessThan(10_000);
  });

  it('with the signal: while waiting, while a poll hangs, and before the start', async () => {
    const server = await historyServer();
    server.add('s', 1);
    const idle = followDeps(server.baseUrl, systemClock);
    const first = followSessions(idle, { s: { from: 'start' } });
    await until(first, isMessage('s-0'));
    const end = untilEnd(first);
    idle.stop();
    expect(summarize(await end)).toEqual([]);

    server.behave(() => undefined);
    const hanging = followDeps(server.baseUrl, systemClock);
    const second = untilEnd(followSessions(hanging, { s: { from: 'start' } }));
    const { request } = await server.nextRequest(() => true);
    const closed = new Promise<void>((resolve) => request.socket.on('close', () => resolve()));
    hanging.stop();
    expect(summarize(await second)).toEqual([]);
    await closed;

    const over = followDeps(server.baseUrl);
    over.stop();
    expect(await untilEnd(followSessions(over, { s: { from: 'start' } }))).toEqual([]);
  });

  it('and aborts running polls when the events are no longer consumed', async () => {
    const server = await historyServer();
    server.add('a', 1);
    const hanging = server.nextRequest(({ session }) => session === 'b');
    server.behave(({ session, json }, wellBehaved) => {
      // Otherwise there is no poll in flight that could be left running.
      if (session === 'a') void hanging.then(() => json(200, wellBehaved()));
    });
    const events = followSessions(followDeps(server.baseUrl, systemClock), {
      a: { from: 'start' },
      b: { from: 'start' },
    });
    for await (const event of events) if (event.kind === 'message') break;
    const { request } = await hanging;
    if (!request.socket.destroyed) await new Promise<void>((resolve) => request.socket.on('close', () => resolve()));
  });
});

describe('the poll rate', () => {
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
    const events = followSessions(parts, { s: { from: 'start' } }, { intervalMs: 100 });
    await until(events, isMessage('s-3'));
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? time));
    expect(pauses[0]).toBeGreaterThanOrEqual(3900);
    expect(pauses[1]).toBeGreaterThanOrEqual(6900);
    expect(pauses[2]).toBeGreaterThanOrEqual(3900);
    await events.return();
  });

  it('is fast for six seconds after a message, and then waits for a tenth of the silence, up to ten seconds', async () => {
    const server = await historyServer();
    server.add('s', 1);
    const parts = followDeps(server.baseUrl, fastClock(), 3_600_000);
    const times: number[] = [];
    server.behave(({ json }, wellBehaved) => {
      times.push(parts.clock.now());
      json(200, wellBehaved());
    });
    await untilEnd(followSessions({ ...parts, random: () => 0 }, { s: { from: 'start' } }));
    const pauses = times
      .slice(1)
      .map((time, index) => ({ at: time - (times[0] ?? 0), ms: time - (times[index] ?? 0) }));
    const waited = pauses.filter(({ ms }) => ms > 0);
    for (const { at, ms } of waited.slice(0, -1))
      expect(ms).toBeCloseTo(Math.min(10_000, Math.max(600, (at - ms) / 10)), 3);
    expect(times.length).toBeLessThan(450);
  });

  it('of many idle sessions is few polls a second, together', async () => {
    const server = await historyServer();
    const starts = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`s${index}`, { from: 'start' } as const]),
    );
    const parts = followDeps(server.baseUrl, fastClock(), 600_000);
    await untilEnd(followSessions(parts, starts));
    expect(server.requests.length).toBeLessThan(600 * 4);
  });
});
