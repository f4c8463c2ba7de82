import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createJob, createUpload, listSpaces, type NewJob } from '../../../src/api/calls.ts';
import type { StreamedBody } from '../../../src/api/streamed-body.ts';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import { LocalError, provesNothingDone, RateLimitError } from '../../../src/errors.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { createGate, json, type Script, startFakeService } from '../../support/fake-service.ts';
import { fastClock } from '../../support/run.ts';
import { listen } from '../../support/tcp-server.ts';
import { accept, MB } from '../../support/uploads.ts';
import { client } from './http-client.ts';

/* What of a request left this machine, and what follows from it, over real connections. */

const JOB: NewJob = {
  agent_id: 'a1',
  name: 'daily',
  instructions: 'Sum up.\n',
  schedule: { minute: '0', hour: '9', day_of_week: '*', timezone: 'UTC' },
};

async function serve(script: Script) {
  const service = await startFakeService(script);
  return { service, http: client(service.baseUrl).http };
}

/** Records when undici has connected, and when it writes the head of a request. */
function recordSending(): string[] {
  const events: string[] = [];
  const channels = { 'undici:client:connected': 'connected', 'undici:client:sendHeaders': 'sent' };
  for (const [channel, event] of Object.entries(channels)) {
    const record = (): void => void events.push(event);
    subscribe(channel, record);
    onTestFinished(() => void unsubscribe(channel, record));
  }
  return events;
}

it('a call that must happen once gets a connection that nothing else uses, and that is closed after it', async () => {
  const { service, http } = await serve({ 'GET *': json([]), 'POST *': json({ cron_job_id: 'c1' }, 201) });
  const calls = [1, 2, 3].map(() => createJob(http, JOB, {}));
  for await (const _ of listSpaces(http)) throw new Error('There is no space.');
  await Promise.all(calls);
  await createJob(http, JOB, {});
  for await (const _ of listSpaces(http)) throw new Error('There is no space.');
  const used = service.posts().map(({ connection }) => connection);
  const reads = service.requests.filter(({ method }) => method === 'GET').map(({ connection }) => connection);
  expect(new Set(used).size).toBe(4);
  expect(new Set(reads).size).toBe(1);
  expect(used).not.toContain(reads[0]);
  await Promise.all(used.map((socket) => (socket.closed ? undefined : once(socket, 'close'))));
  expect(reads[0]?.closed).toBe(false);
});

describe('the question whether a request may be sent', () => {
  it('is asked after its connection stands, in the tick that writes it', async () => {
    const { service, http } = await serve(json({ cron_job_id: 'c1' }, 201));
    const events = recordSending();
    const maySend = (): boolean => {
      events.push('asked');
      queueMicrotask(() => events.push('later'));
      return true;
    };
    expect(await createJob(http, JOB, { maySend })).toBe('c1');
    expect(events).toEqual(['connected', 'asked', 'sent', 'later']);
    expect(service.posts()).toHaveLength(1);
  });

  it('keeps every byte on this machine if the answer is no, which is not retried', async () => {
    const received: Buffer[] = [];
    const server = createServer((socket) => socket.on('data', (bytes) => received.push(bytes)));
    const { http } = client((await listen(server)).baseUrl);
    const events = recordSending();
    const closed = once(server, 'connection').then(([socket]) => once(socket, 'close'));
    const error = await createJob(http, JOB, { maySend: () => false }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LocalError);
    expect(provesNothingDone(error)).toBe(true);
    await closed;
    expect({ events, received }).toEqual({ events: ['connected'], received: [] });
  });
});

it('a rate limit fails a call that must happen once, and delays the calls after it', async () => {
  const clock = fastClock();
  const server = await startFakeService([json({}, 429, { 'retry-after': '60' }), json([])]);
  const { http } = client(server.baseUrl, { clock, random: () => 0 });
  await expect(http.call(OPERATIONS.provisionSpace)).rejects.toBeInstanceOf(RateLimitError);
  expect(clock.slept).toEqual([]);
  await http.call(OPERATIONS.listSpaces);
  expect(clock.slept).toEqual([60_000]);
});

it('a rate limit delays other calls by what the service asks for, and not by the jitter of the call that met it', async () => {
  const server = await startFakeService([json({}, 429, { 'retry-after': '60' }), json([])]);
  const second = createGate();
  let other: Promise<unknown> | undefined;
  const slept: number[] = [];
  let now = 0;
  const sleep = async (ms: number): Promise<void> => {
    const until = now + ms;
    if (slept.push(ms) === 1) {
      // A call that begins while the first one waits.
      other = http.call(OPERATIONS.listSpaces);
      await second.pass();
    } else second.open();
    now = Math.max(now, until);
  };
  const { http } = client(server.baseUrl, { random: () => 0.5, clock: { ...systemClock, now: () => now, sleep } });
  await http.call(OPERATIONS.listSpaces);
  await other;
  expect(slept[0]).toBeGreaterThan(60_000);
  expect(slept.slice(1)).toEqual([60_000]);
});

it('an upload may take any time while the service reads on', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let now = 0;
  const service = await startFakeService(accept);
  const { http } = client(service.baseUrl, { clock: { ...systemClock, now: () => now } });
  const body: StreamedBody = {
    contentType: 'application/octet-stream',
    bytes: 5 * MB,
    closingBytes: 0,
    async *chunks() {
      for (let sent = 0; sent < 5; sent += 1) {
        yield Buffer.alloc(MB);
        now += 100_000;
        vi.advanceTimersByTime(100_000);
      }
    },
  };
  expect(await createUpload(http, 'attachment', body)).toBe('att_1');
});
