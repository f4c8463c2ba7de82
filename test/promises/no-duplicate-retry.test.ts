import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createChat } from '../support/chat.ts';
import { createArgs } from '../support/cron.ts';
import { cut, type Handler, json, passOn, reset, startFakeService } from '../support/fake-service.ts';
import { shell } from '../support/program.ts';
import {
  fastClock,
  manualSignals,
  partnerctl,
  type RunOptions,
  run,
  stallingClock,
  tinyRandom,
} from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';
import { recordTypes, stateFile } from '../support/state-file.ts';
import { rawJson } from '../support/tcp-server.ts';

/*
 * A retry follows the specification: what is idempotent by its ids is repeated with the same ids and creates nothing twice, a job
 * is sent once. (Uploads: no-duplicate-upload.test.ts.)
 */

interface Write {
  readonly args: readonly string[];
  /** What exists at the service because of it, read without faults. */
  created(): Promise<unknown>;
  /** What has to exist after one run. */
  readonly once: unknown;
  /** Whether it reads what exists before it repeats a request. */
  readonly looksFirst?: boolean;
}

type Prepare = (service: Service) => Promise<Write>;

const sending: Prepare = async (service) => {
  const { source_id, history } = await createChat(service);
  return {
    args: ['chat', 'send', '--source', source_id, '--session', 's1', 'Hello'],
    created: async () => (await history()).filter(({ role }) => role === 'user').map(({ text }) => text),
    once: ['Hello'],
  };
};

/** The commands whose requests the specification calls safe to repeat. */
const IDEMPOTENT: readonly (readonly [string, Prepare])[] = [
  [
    'provision',
    async ({ spaces, agents }) => ({
      args: ['provision', write('acme.yaml', manifest('acme', ['Sales', 'Support']))],
      created: async () => {
        const installed = (await spaces()).map(({ space_id }) => agents(space_id));
        return (await Promise.all(installed)).map((each) => each.map(({ name }) => name).toSorted());
      },
      once: [['Sales', 'Support']],
      looksFirst: true,
    }),
  ],
  [
    'chat setup',
    async (service) => {
      const { space_id, agent_id } = await createChat(service, 'agent_inbox', { auto_create_api_chat: false });
      return {
        args: ['chat', 'setup', space_id, agent_id],
        created: async () => await service.agents(space_id),
        once: [expect.objectContaining({ integrations: { api_chat: expect.anything() } })],
      };
    },
  ],
  ['chat send', sending],
];

interface Fault {
  /** `after` the service has carried the request out. */
  readonly stage: 'before' | 'after';
  readonly respond: Handler;
}

const page: Handler = (_, response) =>
  response.writeHead(502, { 'content-type': 'text/html' }).end('<title>Bad</title>');

const FAULTS: readonly (readonly [string, Fault])[] = [
  ['a 503', { stage: 'before', respond: json({}, 503) }],
  ['a 504 although the work was done', { stage: 'after', respond: json({}, 504) }],
  ['the page of a gateway although the work was done', { stage: 'after', respond: page }],
  ['a reset', { stage: 'before', respond: reset }],
  ['a reset although the work was done', { stage: 'after', respond: reset }],
  ['a response that is cut', { stage: 'after', respond: cut('{"id":', 201) }],
];

/** A path to a sandbox on which the first writes fail. */
async function unreliable({ sandbox, env }: Service, { stage, respond }: Fault, times: number) {
  let left = times;
  const { baseUrl, posts } = await startFakeService(async (request, response, count): Promise<unknown> => {
    const isLost = request.method === 'POST' && left > 0;
    if (isLost) left -= 1;
    if (isLost && stage === 'before') return respond(request, response, count);
    const { status, text } = await passOn(request, sandbox.baseUrl);
    if (isLost) return respond(request, response, count);
    return response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  });
  return {
    env: { ...env, PARTNER_BASE_URL: baseUrl },
    /** The ids by which the service recognizes a repeat, of each write that arrived. */
    sent: () =>
      posts().map((request) => {
        const { external_space_id, source_id, session_id, external_message_id } = request.json();
        return { path: request.path, external_space_id, source_id, session_id, external_message_id };
      }),
  };
}

/** Runs a command while its first writes fail. */
async function runWith(prepare: Prepare, fault: Fault, times: number, flags: readonly string[] = [], now?: number) {
  const at = await service();
  const { args, created, once, looksFirst = false } = await prepare(at);
  const { env, sent } = await unreliable(at, fault, times);
  const clock = fastClock(now);
  const ran = await run([...args, '-o', 'json', ...flags], { env, clock, random: () => 0 });
  return { ran, sent: sent(), slept: clock.slept, created: await created(), once, looksFirst };
}

const failing = (status: number, headers?: Record<string, string>): Fault => ({
  stage: 'before',
  respond: json({}, status, headers),
});

describe.each(IDEMPOTENT)('%s', (_, prepare) => {
  it.each(FAULTS)('is repeated after %s, with the same ids, and creates nothing twice', async (_fault, fault) => {
    const { ran, sent, created, once, looksFirst } = await runWith(prepare, fault, 2);
    // What a read finds already done is not sent again.
    expect(sent).toHaveLength(fault.stage === 'after' && looksFirst ? 1 : 3);
    expect(ran.code, ran.stderr).toBe(0);
    expect(created).toEqual(once);
    for (const each of sent) expect(each).toEqual(sent[0]);
  });

  it('is not repeated after a 402, and ends with 6', async () => {
    const { ran, sent, slept } = await runWith(prepare, failing(402), 1);
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 6, type: 'balance_too_low' });
    expect(sent).toHaveLength(1);
    expect(slept).toEqual([]);
  });
});

describe('A message', () => {
  it('is sent --retries times more to a service that always fails, with the same ids, and ends with 8', async () => {
    const { ran, sent } = await runWith(sending, failing(503), 9, ['--retries', '2']);
    expect(ran.code).toBe(8);
    expect(sent).toEqual([sent[0], sent[0], sent[0]]);
  });

  it('waits as long as the Retry-After of a 429 says, and is then repeated', async () => {
    const { ran, sent, slept, created, once } = await runWith(sending, failing(429, { 'retry-after': '7' }), 1);
    expect(ran.code, ran.stderr).toBe(0);
    expect(slept).toEqual([7000]);
    expect(sent).toEqual([sent[0], sent[0]]);
    expect(created).toEqual(once);
  });

  it('does not wait for a Retry-After beyond --timeout: it ends with 7, and says when to come back', async () => {
    const limited = failing(429, { 'retry-after': '3600' });
    const { ran, sent, slept } = await runWith(sending, limited, 1, ['--timeout', '1m'], Date.now());
    expect(ran.code).toBe(7);
    expect(ran.error()).toMatchObject({ type: 'rate_limited', retry_at: expect.stringMatching(/^\d{4}-/) });
    expect(sent).toHaveLength(1);
    expect(slept).toEqual([]);
  });
});

it('A message whose responses were all lost is registered once if the command in the hint is run, as written', async () => {
  const at = await service();
  const { source_id, history } = await createChat(at);
  await at.faults({ kind: 'reset', stage: 'after', on: 'POST' });
  const args = ['chat', 'send', '--source', source_id, '--session', 's1', "It's on its way", '-o', 'json'];
  const lost = await run(args, { env: at.env, clock: fastClock() });
  expect(lost.code).toBe(8);
  await at.faults();
  const [line = ''] = /partnerctl chat send .*/.exec(String(lost.error().hint)) ?? [];
  // The shell splits the words.
  const { stdout } = await shell(`printf '%s\\n' ${line}`);
  const again = await run([...stdout.trim().split('\n').slice(1), '-o', 'json'], { env: at.env });
  expect(again.json(), again.stderr).toMatchObject({ created: false });
  expect((await history()).filter(({ role }) => role === 'user')).toHaveLength(1);
});

it('A read is not repeated after a 402, and waits for the Retry-After of a 429', async () => {
  const service = await startFakeService([json({}, 429, { 'retry-after': '7' }), json({}, 402), json([])]);
  const clock = fastClock();
  expect((await partnerctl(service.baseUrl, ['spaces', 'list'], { clock, random: () => 0 })).code).toBe(6);
  expect(clock.slept).toEqual([7000]);
  expect(service.requests).toHaveLength(2);
});

type Creation = Awaited<ReturnType<typeof createJob>>;

/** Runs `cron create` with a token that may not list jobs, so that only the response to its POST says what happened. */
async function createJob(respond: Handler, options: RunOptions = {}, ...flags: string[]) {
  const service = await startFakeService({ 'GET *': json({ detail: 'missing scope' }, 403), 'POST *': respond });
  const clock = fastClock();
  const { path, run: runWithState } = stateFile();
  const args = createArgs('agt_1', 'daily', ...flags);
  const ran = await runWithState(service, args, { clock, random: tinyRandom, ...options });
  return { ran, service, records: await recordTypes(path), slept: clock.slept };
}

describe('A response of 4xx, except 408, proves that no job was created:', () => {
  it.each([
    [400, 1, 'refused'],
    [401, 3, 'credentials'],
    [402, 6, 'balance_too_low'],
    [403, 3, 'credentials'],
    [404, 4, 'not_found'],
    [409, 1, 'refused'],
    [422, 1, 'refused'],
  ])('%i ends with %i, and is not sent again', async (status, code, type) => {
    const { ran, service, records } = await createJob(json({ code: 'the_code' }, status));
    expect(ran.code).toBe(code);
    expect(ran.error()).toMatchObject({ type, status, code: 'the_code' });
    expect(service.posts()).toHaveLength(1);
    expect(records).toEqual(['cron.reserved', 'cron.released']);
  });

  it('a 429 is not waited for, however short its Retry-After', async () => {
    const { ran, service, slept, records } = await createJob(json({}, 429, { 'retry-after': '1' }));
    expect(ran.code).toBe(7);
    expect(records).toEqual(['cron.reserved', 'cron.released']);
    expect(ran.error()).toMatchObject({
      type: 'rate_limited',
      retry_at: expect.stringMatching(/^2026-01-01T00:00:01/),
      hint: expect.stringContaining('was not processed'),
    });
    expect(slept).toEqual([]);
    expect(service.posts()).toHaveLength(1);
  });

  it('a 422 counts even if its body is cut', async () => {
    const { ran, service, records } = await createJob(cut('{"code"', 422));
    expect(ran.code).toBe(1);
    expect(service.posts()).toHaveLength(1);
    expect(records).toEqual(['cron.reserved', 'cron.released']);
  });
});

describe('A job of unknown outcome is not sent again:', () => {
  const head = (status: string, rest: string): string => `HTTP/1.1 ${status}\r\n${rest}`;

  function expectUnknown({ ran, service, records }: Creation): void {
    expect(ran.code).toBe(9);
    expect(ran.error()).toMatchObject({
      type: 'outcome_unknown',
      hint: expect.stringContaining('partnerctl cron reconcile'),
      details: { why: expect.any(String) },
    });
    expect(ran.json()).toMatchObject({ cron_job_id: null, status: 'unknown' });
    expect(service.posts()).toHaveLength(1);
    expect(records).toEqual(['cron.reserved', 'cron.unknown']);
  }

  it.each<[string, string, number | null]>([
    ['500', rawJson({ message: 'Broken.' }, '500 Internal Server Error'), 500],
    ['408', rawJson({}, '408 Request Timeout'), 408],
    [
      '502 with a page',
      head('502 Bad Gateway', 'content-type: text/html\r\nconnection: close\r\n\r\n<title>Bad</title>'),
      502,
    ],
    ['503 with Retry-After', rawJson({}, '503 Service Unavailable', 'retry-after: 1\r\n'), 503],
    ['303', head('303 See Other', 'location: /v1/automation/partner-cron-jobs/c1/\r\ncontent-length: 0\r\n\r\n'), 303],
    ['304', head('304 Not Modified', '\r\n'), 304],
    ['201 whose body is cut', rawJson({ id: 'c1' }, '201 Created').replace('content-length: ', '$&9'), 201],
    ['201 whose chunks have no end', head('201 Created', 'transfer-encoding: chunked\r\n\r\n5\r\n{"id"\r\n'), 201],
    ['201 without a body', head('201 Created', 'content-length: 0\r\n\r\n'), 201],
    ['204', head('204 No Content', '\r\n'), 204],
    [
      '201 with a page',
      head('201 Created', 'content-type: text/html\r\nconnection: close\r\n\r\n<title>Hello</title>'),
      201,
    ],
    ['201 with half of its JSON', head('201 Created', 'content-length: 5\r\n\r\n{"id"'), 201],
    ['200 with an error', rawJson({ error: { message: 'Broken.' } }), 200],
    ['529', rawJson({}, '529 Overloaded'), 529],
    ['201 in an unknown encoding', head('201 Created', 'content-encoding: zstd\r\ncontent-length: 1\r\n\r\nx'), 201],
    ['headers that are cut', 'HTTP/1.1 201 Cre', null],
    ['no response', '', null],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n', null],
  ])('%s', async (_, text, status) => {
    const creation = await createJob(({ connection }) => connection.end(text));
    expectUnknown(creation);
    expect(creation.ran.error()).toMatchObject({ status });
  });

  it('a response without an id, which is described', async () => {
    const creation = await createJob(json({ ok: true }, 201));
    expectUnknown(creation);
    const { why } = Object(creation.ran.error().details);
    expect(why).toContain('The response contains no cron_job_id.');
    expect(why).toContain('an object with ok (boolean)');
  });

  const gzip = gzipSync(JSON.stringify({ cron_job_id: 'c1' })).subarray(0, -9);
  const inGzip = { 'content-encoding': 'gzip', 'content-length': gzip.length };

  it.each<[string, Handler]>([
    ['a 201 whose gzip is cut', (_, response) => response.writeHead(201, inGzip).end(gzip)],
    ['a reset after the request was read', reset],
  ])('%s', async (_, respond) => expectUnknown(await createJob(respond)));

  it.each([
    ['no response', '', 'No response'],
    ['a response that stalls', '{"cron_job_id": "c1"', ''],
  ])('%s until --timeout', async (_, part, why) => {
    const clock = stallingClock();
    const respond: Handler = (_request, response) => {
      if (part !== '') response.writeHead(201, { 'content-length': '50' }).write(part);
      return clock.stall(response);
    };
    const creation = await createJob(respond, { clock }, '--timeout', '3s');
    expectUnknown(creation);
    expect(creation.ran.error()).toMatchObject({ details: { why: expect.stringContaining(why) } });
  });

  it('Ctrl-C in flight, after five seconds without a response', async () => {
    const signals = manualSignals();
    const creation = await createJob(signals.ctrlC, { signals });
    expectUnknown(creation);
    expect(creation.slept).toEqual([5000]);
  });

  it('Ctrl-C in flight, followed by a reset', async () => {
    const signals = manualSignals();
    const respond: Handler = (...given) => {
      signals.ctrlC();
      reset(...given);
    };
    expectUnknown(await createJob(respond, { signals }));
  });
});

it('A job whose request never left is sent once the service can be reached again', async () => {
  const service = await startFakeService({
    'GET *': (_, response) => {
      response.writeHead(403, { connection: 'close' }).end('{}', () => void service.stop());
    },
    'POST *': json({ cron_job_id: 'cron_1' }, 201),
  });
  const clock = fastClock();
  const waiting = {
    ...clock,
    sleep: async (ms: number, signal?: AbortSignal) => {
      await clock.sleep(ms, signal);
      if (clock.slept.length === 2) await service.restart();
    },
  };
  const ran = await partnerctl(service.baseUrl, createArgs('agt_1', 'daily'), { clock: waiting });
  expect(ran.json()).toMatchObject({ cron_job_id: 'cron_1', status: 'created' });
  expect(service.posts()).toHaveLength(1);
  expect(clock.slept).toHaveLength(2);
});
