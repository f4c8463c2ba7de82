import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { appendFileSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { StreamedBody } from '../../src/api/streamed-body.ts';
import { createUpload } from '../../src/api/uploads.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import { CredentialsError, InterruptedError } from '../../src/errors.ts';
import { sendJson } from '../helpers/fake-service.ts';
import { handSignals } from '../helpers/run.ts';
import { write } from '../helpers/service.ts';
import { findClosedPort, listen, rawJson } from '../helpers/tcp-server.ts';
import { client, TOKEN, withinLimit } from './client.ts';
import { accept, atFirst, type Coming, type Reaction, type Said, uploader, uploadServer } from './upload-server.ts';

const MB = 1024 * 1024;
const LARGE = 64 * MB;

/** A file that takes no room on the disk. */
function large(bytes = LARGE): string {
  const path = write('large.bin', '');
  truncateSync(path, bytes);
  return path;
}

/** Waits at least as long before a retry that a deadline passes in the wait. */
const slowToRetry: Clock = {
  now: systemClock.now,
  sleep: (ms, signal) => systemClock.sleep(Math.max(ms, 120), signal),
};

const small = (): string => write('small.txt', 'hello');

/** Answers once so much of the body came, and goes on reading what may still come. */
function early(status: number, bytes: number, headers: Record<string, string> = {}): Reaction {
  return async (coming, response) => {
    if (bytes > 0) await coming.reached(bytes);
    sendJson(response, { code: 'the_code', message: 'Not this.' }, status, headers);
  };
}

describe('a request', () => {
  it('has a known length, and the token in its one header only', async () => {
    const server = await uploadServer(accept);
    const { upload } = uploader(server.baseUrl);
    const ran = await upload([small(), '--field', 'kind=manual']);
    expect(ran.code).toBe(0);
    const [request] = server.requests;
    const { authorization, 'content-length': length, ...others } = request?.headers ?? {};
    expect(authorization).toBe(`Bearer ${TOKEN}`);
    expect(others['transfer-encoding']).toBeUndefined();
    expect(Number(length)).toBe(request?.bytes());
    expect(JSON.stringify(others) + request?.path + request?.body()).not.toContain(TOKEN);
    expect(request?.path).toBe('/v1/automation/file-attachments/');
    expect(others['content-type']).toMatch(/^multipart\/form-data; boundary=/);
  });

  it.each([0, 1])('is whole for a file of %i bytes', async (bytes) => {
    const server = await uploadServer(accept);
    const { upload } = uploader(server.baseUrl);
    expect((await upload([write('a.bin', new Uint8Array(bytes))])).code).toBe(0);
    expect(server.requests.map((request) => Number(request.headers['content-length']) - request.bytes())).toEqual([0]);
  });
});

it('does not keep other files waiting for one that is there several times', async () => {
  let otherCame = (): void => undefined;
  const other = new Promise<void>((resolve) => {
    otherCame = resolve;
  });
  const server = await uploadServer(async (coming, response, count) => {
    await coming.whole;
    if (String(coming.body()).includes('other.txt')) otherCame();
    // Only after the file that comes behind all of its copies.
    else await other;
    sendJson(response, { id: `att_${count}` }, 201);
  });
  const { upload } = uploader(server.baseUrl);
  const copies = Array.from({ length: 3 }, () => write('same.txt', 'same'));
  const ran = await upload([...copies, write('other.txt', 'other'), '--concurrency', '2']);
  const [last, ...same] = (ran.json() as Said[]).map(({ status }) => status).reverse();
  expect(last).toBe('uploaded');
  // Any of the copies may have been read first.
  expect(same.sort()).toEqual(['skipped', 'skipped', 'uploaded']);
});

it('a service that gives the token for an id does not get it into the state file', async () => {
  const server = await uploadServer(async (coming, response) => {
    await coming.whole;
    sendJson(response, { id: TOKEN }, 201);
  });
  const { upload, state } = uploader(server.baseUrl);
  expect((await upload([small()])).json()).toMatchObject([{ status: 'uploaded', id: '[redacted]' }]);
  const kept = readFileSync(state, 'utf8');
  expect(kept).toContain('"upload_id":"[redacted]"');
  expect(kept).not.toContain(TOKEN);
});

it.each([
  ['401 Unauthorized', 3],
  ['402 Payment Required', 6],
  ['413 Content Too Large', 1],
])(
  'a refusal that resets the connection ends as the refusal or as a failure, never as unknown: %s',
  async (line, exit) => {
    const reply = rawJson({ message: 'Not this.' }, line, 'connection: close\r\n');
    const server = createServer((socket) => {
      socket.once('data', () => {
        socket.pause();
        socket.write(reply, () => socket.destroy());
      });
    });
    const { baseUrl } = await listen(server);
    const { upload, records } = uploader(baseUrl);
    const ran = await upload([large(), '--retries', '0']);
    // Whether the response or the reset arrives first depends on the system.
    expect(ran.code).toBeOneOf([exit, 8]);
    expect(await records()).toEqual([]);
  },
);

describe('an early refusal of a large file stops the sending, and is reported as itself:', () => {
  it.each([
    [401, 3, 'credentials'],
    [402, 6, 'balance_too_low'],
    [403, 3, 'credentials'],
    [413, 1, 'refused'],
  ])('%i', async (status, exit, type) => {
    const server = await uploadServer(early(status, 100_000));
    const { upload, records } = uploader(server.baseUrl);
    const ran = await upload([large()]);
    expect(ran.code).toBe(exit);
    expect(ran.error()).toMatchObject({
      type,
      status,
      code: 'the_code',
      details: { why: expect.stringMatching('Not this') },
    });
    expect(ran.json()).toMatchObject([{ id: null, status: 'failed', error: { type, status } }]);
    expect(server.requests).toHaveLength(1);
    const [request] = server.requests;
    await request?.closed;
    expect(request?.isWhole()).toBe(false);
    expect(request?.bytes()).toBeLessThan(LARGE / 2);
    expect(await records()).toEqual([]);
  });

  it('307, which is not followed, and leaves nothing open', async () => {
    const server = await uploadServer(early(307, 100_000, { location: '/elsewhere' }));
    const { upload, records } = uploader(server.baseUrl);
    const ran = await upload([large()]);
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 8, type: 'service' });
    expect(ran.stderr).toContain('/elsewhere');
    expect(server.requests).toHaveLength(1);
    expect(await records()).toEqual([]);
  });

  it('402, and the files after it are not even begun', async () => {
    const server = await uploadServer(early(402, 0));
    const { upload } = uploader(server.baseUrl);
    const ran = await upload([small(), large(), write('c.txt', 'three'), '--concurrency', '1']);
    expect(ran.code).toBe(6);
    expect(server.requests).toHaveLength(1);
    expect(ran.json()).toMatchObject([
      { error: { message: expect.stringMatching(/^The organization's/) } },
      {
        error: { type: 'balance_too_low', message: expect.stringMatching(/^It was not started\. The organization's/) },
      },
      { error: { type: 'balance_too_low', message: expect.stringMatching(/^It was not started\./) } },
    ]);
  });
});

describe('before the service has all of a file it is sent again after', () => {
  const troubles: readonly [string, Reaction][] = [
    ['an early 503', early(503, 100_000)],
    ['an early 429', early(429, 100_000, { 'retry-after': '0' })],
    ['a reset before any of the body', (_, response) => response.socket?.resetAndDestroy()],
    [
      'a reset in the middle of it',
      async (coming, response) => {
        await coming.reached(MB);
        response.socket?.resetAndDestroy();
      },
    ],
    [
      'an end of the connection in the middle of it',
      async (coming, response) => {
        await coming.reached(MB);
        response.destroy();
      },
    ],
  ];

  it.each(troubles)('%s', async (_, trouble) => {
    const server = await uploadServer(atFirst(trouble, 2));
    const { upload, records } = uploader(server.baseUrl);
    const ran = await upload([large()]);
    expect(ran.json()).toMatchObject([{ id: 'att_3', status: 'uploaded' }]);
    expect(ran.code).toBe(0);
    expect(server.requests.map((request) => request.isWhole())).toEqual([false, false, true]);
    expect(await records()).toEqual(['sent', 'done']);
  });

  it('503 only so often, and then it has failed', async () => {
    const server = await uploadServer(early(503, 0));
    const { upload, records } = uploader(server.baseUrl);
    const ran = await upload([large(), '--retries', '2']);
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 8, type: 'service' });
    expect(server.requests).toHaveLength(3);
    expect(await records()).toEqual([]);
  });

  it('nothing where the connection is refused, in the end', async () => {
    const { upload, records } = uploader(`http://127.0.0.1:${await findClosedPort()}/v1`);
    const ran = await upload([small()]);
    expect(ran.code).toBe(8);
    expect(ran.json()).toMatchObject([{ id: null, status: 'failed' }]);
    expect(await records()).toEqual([]);
  });
});

/** What becomes of the answer once all of the file was received. */
function spoilt(answer: (response: ServerResponse) => unknown): Reaction {
  return async (coming, response) => {
    await coming.whole;
    answer(response);
  };
}

describe('once the service has all of a file, it is unknown, and sent again only when told to, after', () => {
  it.each<[string, Reaction, 'limited'?]>([
    ['a reset', spoilt((response) => response.socket?.resetAndDestroy())],
    [
      'a 201 that is cut',
      spoilt((response) => {
        response.writeHead(201, { 'content-type': 'application/json', 'content-length': '50' });
        response.write('{"file_attachment_id": "att', () => response.destroy());
      }),
    ],
    ['a 201 with a page', spoilt((response) => response.writeHead(201).end('<title>Welcome</title>'))],
    ['a 201 without an id', spoilt((response) => sendJson(response, { ok: true }, 201))],
    ['a 201 without a body', spoilt((response) => response.writeHead(201).end())],
    ['a 502', spoilt((response) => sendJson(response, {}, 502))],
    ['a 503 with Retry-After', spoilt((response) => sendJson(response, {}, 503, { 'retry-after': '0' }))],
    ['a redirect', spoilt((response) => response.writeHead(303, { location: '/v1/x' }).end())],
    ['no answer within --timeout', spoilt(() => undefined), 'limited'],
  ])('%s', async (_, trouble, limited) => {
    const path = small();
    const { server, upload, records, lost } = await withinLimit(async (ms) => {
      const server = await uploadServer(atFirst(trouble));
      const by = uploader(server.baseUrl);
      const lost = await by.upload([path, ...(limited ? ['--timeout', `${ms}ms`] : [])]);
      const isReached = !limited || server.requests[0]?.isWhole();
      return isReached ? { ...by, server, lost } : undefined;
    });
    expect({ code: lost.code, type: lost.error().type }).toEqual({ code: 9, type: 'outcome_unknown' });
    expect(lost.json()).toMatchObject([{ id: null, status: 'unknown' }]);
    expect(lost.error().hint).toContain('--retry-unknown');
    expect(await records()).toEqual(['sent', 'unknown']);

    const still = await upload([path]);
    expect({ code: still.code, statuses: still.json<Said[]>().map(({ status }) => status) }).toEqual({
      code: 9,
      statuses: ['unknown'],
    });
    expect(server.requests).toHaveLength(1);

    const again = await upload([path, '--retry-unknown']);
    expect(again.json()).toMatchObject([{ id: 'att_2', status: 'uploaded' }]);
    expect((await upload([path, '--retry-unknown'])).json()).toMatchObject([{ id: 'att_2', status: 'skipped' }]);
    expect(server.requests).toHaveLength(2);
  });

  it('but not after a 422, which says that nothing was made', async () => {
    const server = await uploadServer(atFirst(spoilt((response) => sendJson(response, {}, 422))));
    const { upload, records } = uploader(server.baseUrl);
    const path = small();
    expect((await upload([path])).code).toBe(1);
    expect(await records()).toEqual(['sent', 'released']);
    expect((await upload([path])).json()).toMatchObject([{ status: 'uploaded' }]);
  });

  it('10 among others that are uploaded', async () => {
    const server = await uploadServer(atFirst(spoilt((response) => sendJson(response, {}, 502))));
    const { upload } = uploader(server.baseUrl);
    const ran = await upload([small(), write('b.txt', 'two'), '--concurrency', '1']);
    expect(ran.code).toBe(10);
    expect(ran.json()).toMatchObject([{ status: 'unknown' }, { status: 'uploaded' }]);
  });
});

it('an id that comes before the service has all of the file is not taken for an upload', async () => {
  const server = await uploadServer(async (coming, response) => {
    await coming.reached(MB);
    sendJson(response, { file_attachment_id: 'att_early' }, 201);
  });
  const { upload, records } = uploader(server.baseUrl);
  const ran = await upload([large()]);
  expect(ran.code).toBe(8);
  expect(ran.json()).toMatchObject([{ id: null, status: 'failed' }]);
  expect(ran.stderr).toContain('att_early');
  expect(await records()).toEqual([]);
});

it('an id that comes when only the end of the form is missing is kept', async () => {
  const server = await uploadServer((_, response) => sendJson(response, { file_attachment_id: 'att_quick' }, 201));
  const { upload, records } = uploader(server.baseUrl);
  const ran = await upload([small()]);
  expect(ran.code).toBe(0);
  expect(ran.json()).toMatchObject([{ id: 'att_quick', status: 'uploaded', sha256: expect.any(String) }]);
  expect((await records()).at(-1)).toBe('done');
});

it('an answer that cannot be read, and comes when only the end of the form is missing, leaves the file unknown', async () => {
  const server = await uploadServer(atFirst((_, response) => response.writeHead(201).end('not JSON')));
  const { upload, records } = uploader(server.baseUrl);
  const path = small();
  const ran = await upload([path]);
  expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 9, type: 'outcome_unknown' });
  expect(ran.json()).toMatchObject([{ id: null, status: 'unknown' }]);
  expect((await records()).slice(-2)).toEqual(['sent', 'unknown']);
  expect((await upload([path])).json()).toMatchObject([{ status: 'unknown' }]);
  expect(server.requests).toHaveLength(1);
});

describe('a 201 that comes when only the end of the form is missing', () => {
  it('may come in two parts', async () => {
    const answer = JSON.stringify({ file_attachment_id: 'att_slow' });
    const server = await uploadServer(async (coming, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': answer.length });
      response.write(answer.slice(0, 5));
      await coming.whole;
      response.end(answer.slice(5));
    });
    const { upload, records } = uploader(server.baseUrl);
    expect((await upload([small()])).json()).toMatchObject([{ id: 'att_slow', status: 'uploaded' }]);
    expect(server.requests).toHaveLength(1);
    expect((await records()).toSorted()).toEqual(['done', 'sent']);
  });

  it('and is cut, leaves the file unknown', async () => {
    const server = await uploadServer(
      atFirst((_, response) => {
        response.writeHead(201, { 'content-type': 'application/json', 'content-length': '50' });
        response.write('{"file_attachment_id": "att', () => response.destroy());
      }),
    );
    const { upload, records } = uploader(server.baseUrl);
    const ran = await upload([small()]);
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 9, type: 'outcome_unknown' });
    expect(server.requests).toHaveLength(1);
    expect(await records()).toEqual(['sent', 'unknown']);
  });

  it('and is interrupted, leaves the file unknown', async () => {
    const signals = handSignals();
    const interrupt = (): void => void setImmediate(() => signals.abort(new InterruptedError('Interrupted.')));
    subscribe('undici:request:headers', interrupt);
    onTestFinished(() => void unsubscribe('undici:request:headers', interrupt));
    const server = await uploadServer((_, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': '50' });
      response.write('{"file_attachment_id": "att');
    });
    const { upload, records } = uploader(server.baseUrl);
    const ran = await upload([small()], { signals });
    expect(ran.json()).toMatchObject([{ id: null, status: 'unknown' }]);
    expect(await records()).toEqual(['sent', 'unknown']);
  });
});

it('a redirect is named as what stands in the way, though the file is unknown', async () => {
  const server = await uploadServer(spoilt((response) => response.writeHead(302, { location: '/login' }).end()));
  const { upload } = uploader(server.baseUrl);
  const ran = await upload([small()]);
  expect(ran.error()).toMatchObject({ type: 'outcome_unknown', hint: expect.stringMatching(/Check the base URL/) });
});

it('what makes the body is told that the attempt is over', async () => {
  const server = await uploadServer(early(401, 1));
  const { http } = client(server.baseUrl);
  let told: Promise<void> | undefined;
  const body: StreamedBody = {
    contentType: 'application/octet-stream',
    bytes: 2,
    closingBytes: 1,
    async *chunks(over) {
      told = new Promise((resolve) => over.addEventListener('abort', () => resolve()));
      yield Buffer.from('x');
      await told;
    },
  };
  await expect(createUpload(http, 'attachment', body)).rejects.toThrow(CredentialsError);
  await told;
});

it('a rate limit that lasts longer than anybody waits ends at once, and says when to come back', async () => {
  const server = await uploadServer(early(429, 0, { 'retry-after': '3600' }));
  const { upload, records } = uploader(server.baseUrl);
  const ran = await upload([large(), large()]);
  expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 7, type: 'rate_limited' });
  expect(ran.error().hint).toMatch(/^Run the command again after \d{4}-/);
  expect(server.requests.length).toBeLessThanOrEqual(2);
  expect(await records()).toEqual([]);
});

it('files of the same name and length go together, unless they are the same', async () => {
  const answers: (() => void)[] = [];
  const server = await uploadServer(async (coming, response, count) => {
    await coming.whole;
    answers.push(() => sendJson(response, { file_attachment_id: `att_${count}` }, 201));
    if (answers.length === 2) for (const answer of answers) answer();
  });
  const { upload } = uploader(server.baseUrl);
  const pages = ['one', 'two', 'one'].map((content) => write('index.html', content));
  const ran = await upload(pages);
  const statuses = ran.json<Said[]>().map(({ status }) => status);
  expect(statuses.toSorted()).toEqual(['skipped', 'uploaded', 'uploaded']);
  expect(server.requests).toHaveLength(2);
});

it('a namesake that is gone when its turn comes has failed, and the others are uploaded', async () => {
  const [first = '', gone = '', last = ''] = ['one', 'two', 'six'].map((content) => write('index.html', content));
  const server = await uploadServer(async (coming, response, count) => {
    rmSync(gone, { force: true });
    await accept(coming, response, count);
  });
  const { upload } = uploader(server.baseUrl);
  const ran = await upload([first, gone, last, '--concurrency', '1']);
  expect(ran.code).toBe(10);
  expect(ran.json()).toMatchObject([
    { status: 'uploaded' },
    { status: 'failed', error: { message: `${gone} cannot be read.` } },
    { status: 'uploaded' },
  ]);
});

it('what another process is about to complete is waited for, and skipped then', async () => {
  let answer = (): void => undefined;
  const server = await uploadServer(async (coming, response) => {
    await coming.whole;
    answer = () => sendJson(response, { file_attachment_id: 'att_1' }, 201);
    second = upload([path], { clock: { ...systemClock, sleep } });
  });
  const { upload, records } = uploader(server.baseUrl);
  const path = small();
  let second: ReturnType<typeof upload> | undefined;
  const sleep: typeof systemClock.sleep = (ms, signal) => {
    answer();
    return systemClock.sleep(ms, signal);
  };
  const first = await upload([path]);
  const other = await second;
  expect(first.json()).toMatchObject([{ id: 'att_1', status: 'uploaded' }]);
  expect(other?.json()).toMatchObject([{ id: 'att_1', status: 'skipped' }]);
  expect([first.code, other?.code]).toEqual([0, 0]);
  expect(server.requests).toHaveLength(1);
  expect(await records()).toEqual(['sent', 'done']);
});

it('what another process is about to complete is waited for with --force, too, and sent once then', async () => {
  let answer = (): void => undefined;
  const server = await uploadServer(async (coming, response, count) => {
    if (count > 1) {
      await accept(coming, response, count);
      return;
    }
    await coming.whole;
    answer = () => sendJson(response, { file_attachment_id: 'att_1' }, 201);
    second = upload([path, '--force'], { clock: { ...systemClock, sleep } });
  });
  const { upload } = uploader(server.baseUrl);
  const path = small();
  let second: ReturnType<typeof upload> | undefined;
  let looks = 0;
  const sleep: typeof systemClock.sleep = (ms, signal) => {
    // Only after it has looked again several times.
    looks += 1;
    if (looks === 4) answer();
    return systemClock.sleep(ms, signal);
  };
  const first = await upload([path]);
  const other = await second;
  expect(first.json()).toMatchObject([{ id: 'att_1', status: 'uploaded' }]);
  expect(other?.json()).toMatchObject([{ id: 'att_3', status: 'uploaded' }]);
  expect(server.requests.map((request) => request.isWhole())).toEqual([true, false, true]);
});

it('as many as go at a time may wait for another process, without a warning of Node', async () => {
  const warnings: string[] = [];
  // Others may be about what ran in this process before.
  const keep = ({ name }: Error): void => void (name === 'MaxListenersExceededWarning' && warnings.push(name));
  process.on('warning', keep);
  onTestFinished(() => void process.off('warning', keep));
  const paths = Array.from({ length: 12 }, (_, index) => write(`${index}.txt`, String(index)));
  const words = [...paths, '--concurrency', '12'];
  const answers: (() => void)[] = [];
  const server = await uploadServer(async (coming, response, count) => {
    await coming.whole;
    answers.push(() => sendJson(response, { file_attachment_id: `att_${count}` }, 201));
    if (answers.length === paths.length) second = upload(words, { clock: { ...systemClock, sleep } });
  });
  const { upload } = uploader(server.baseUrl);
  let second: ReturnType<typeof upload> | undefined;
  let waiting = 0;
  const sleep: typeof systemClock.sleep = (ms, signal) => {
    waiting += 1;
    if (waiting === paths.length) for (const answer of answers) answer();
    return systemClock.sleep(ms, signal);
  };
  expect((await upload(words)).code).toBe(0);
  const other = await second;
  expect(other?.json<Said[]>().map(({ status }) => status)).toEqual(paths.map(() => 'skipped'));
  expect(warnings).toEqual([]);
});

describe('Ctrl-C', () => {
  it('in the middle of a file ends at once with 130, and leaves nothing open', async () => {
    const signals = handSignals();
    const server = await uploadServer(async (coming) => {
      await coming.reached(MB);
      coming.pause();
      signals.abort(new InterruptedError('Interrupted.'));
    });
    const { upload, records } = uploader(server.baseUrl);
    const ran = await upload([large(), small(), '--concurrency', '1', '-v'], { signals });
    expect(ran.code).toBe(130);
    expect(ran.stderr).not.toContain('for the answer');
    expect(ran.json()).toMatchObject([{ status: 'failed' }, { status: 'failed' }]);
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.isWhole()).toBe(false);
    expect(await records()).toEqual([]);
  });

  it('while another process is waited for ends at once', async () => {
    const signals = handSignals();
    let answer = (): void => undefined;
    const sleep: typeof systemClock.sleep = (ms, signal) => {
      // Whoever goes on waiting finds that it is done.
      if (signals.interrupt.aborted) answer();
      else signals.abort(new InterruptedError('Interrupted.'));
      return systemClock.sleep(ms, signal);
    };
    let second: ReturnType<typeof upload> | undefined;
    const server = await uploadServer(async (coming, response) => {
      await coming.whole;
      answer = () => sendJson(response, { file_attachment_id: 'att_1' }, 201);
      second = upload([path], { signals, clock: { ...systemClock, sleep } });
      await second;
      answer();
    });
    const { upload } = uploader(server.baseUrl);
    const path = small();
    expect((await upload([path])).json()).toMatchObject([{ id: 'att_1', status: 'uploaded' }]);
    const ran = await second;
    expect(ran?.code).toBe(130);
    expect(ran?.json()).toMatchObject([{ id: null, status: 'failed', error: { type: 'interrupted' } }]);
  });

  it('after all of it was sent waits for the answer', async () => {
    const signals = handSignals();
    const server = await uploadServer(async (coming, response, count) => {
      await coming.whole;
      signals.abort(new InterruptedError('Interrupted.'));
      await accept(coming, response, count);
    });
    const { upload, records } = uploader(server.baseUrl);
    const ran = await upload([small(), '-v'], { signals, clock: systemClock });
    expect(ran.json()).toMatchObject([{ id: 'att_1', status: 'uploaded' }]);
    expect(ran.stderr).toContain('waiting 5.0 s at most for the response');
    expect(await records()).toEqual(['sent', 'done']);
  });
});

it('a file that is written to while it is sent is not completed', async () => {
  const path = large();
  const server = await uploadServer(async (coming) => {
    await coming.reached(MB);
    appendFileSync(path, 'more');
  });
  const { upload, records } = uploader(server.baseUrl);
  const ran = await upload([path]);
  expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 1, type: 'local' });
  expect(ran.error().message).toContain('changed while it was being uploaded');
  expect(server.requests.map((request) => request.isWhole())).toEqual([false]);
  expect(await records()).toEqual([]);
});

describe('a service that is slow to read', () => {
  const CHUNK = Buffer.alloc(MB);

  /** A body of which it is known how much was asked for. */
  function counted(chunks: number) {
    let taken = 0;
    return {
      taken: () => taken,
      body: {
        contentType: 'application/octet-stream',
        bytes: chunks * MB,
        closingBytes: 0,
        async *chunks() {
          for (; taken < chunks; taken += 1) yield CHUNK;
        },
      },
    };
  }

  async function settled(read: () => number): Promise<number> {
    for (let last = -1; ; ) {
      const now = read();
      if (now === last && now > 0) return now;
      last = now;
      await systemClock.sleep(150);
    }
  }

  it('holds the file back, instead of having it read into memory', async () => {
    let paused = (_: Coming): void => undefined;
    const pausing = new Promise<Coming>((resolve) => {
      paused = resolve;
    });
    const server = await uploadServer(async (coming, response, count) => {
      await coming.reached(1);
      coming.pause();
      paused(coming);
      await accept(coming, response, count);
    });
    const { http } = client(server.baseUrl, { clock: systemClock });
    const { body, taken } = counted(200);
    const uploading = createUpload(http, 'attachment', body);
    const coming = await pausing;
    expect(await settled(taken)).toBeLessThan(50);
    coming.resume();
    expect(await uploading).toBe('att_1');
    expect(coming.bytes()).toBe(200 * MB);
  });

  it('may take any time as long as it goes on', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let now = 0;
    const server = await uploadServer(accept);
    const { http } = client(server.baseUrl, { clock: { ...systemClock, now: () => now } });
    const body = {
      contentType: 'application/octet-stream',
      bytes: 5 * MB,
      closingBytes: 0,
      async *chunks() {
        for (let count = 0; count < 5; count += 1) {
          yield CHUNK;
          now += 100_000;
          vi.advanceTimersByTime(100_000);
        }
      },
    };
    expect(await createUpload(http, 'attachment', body)).toBe('att_1');
  });

  it('but steady is given up all the same once the time of the whole command is up', async () => {
    // Read at this pace, it would take longer than any test may.
    const path = large(4_000 * MB);
    const { server, ran, records } = await withinLimit(async (ms) => {
      const server = await uploadServer(async (coming) => {
        for (let isOver = false; !isOver; ) {
          coming.pause();
          isOver = await Promise.race([coming.closed.then(() => true), systemClock.sleep(100).then(() => false)]);
          coming.resume();
          await coming.reached(coming.bytes() + 4 * MB);
        }
      });
      const { upload, records } = uploader(server.baseUrl);
      const ran = await upload([path, '--timeout', `${ms}ms`], { clock: slowToRetry });
      const [request] = server.requests;
      return (request?.bytes() ?? 0) > 8 * MB ? { server, ran, records } : undefined;
    });
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 8, type: 'service' });
    expect(server.requests.map((request) => request.isWhole())).toEqual([false]);
    expect(await records()).toEqual([]);
  });

  it('and stops altogether is told of by -v as well', async () => {
    const stderr = await withinLimit(async (ms) => {
      const server = await uploadServer((coming) => coming.pause());
      const { upload } = uploader(server.baseUrl);
      const { stderr } = await upload([large(), '--timeout', `${ms}ms`, '-v']);
      return server.requests.length === 0 ? undefined : stderr;
    });
    expect(stderr).toMatch(
      /^\* POST \S+ → failed before all of it was sent: the rest of the request could not be sent in time /m,
    );
  });

  it('and stops altogether is given up within --timeout, with nothing left open', async () => {
    const { ran, records } = await withinLimit(async (ms) => {
      const server = await uploadServer(async (coming) => {
        await coming.reached(1);
        coming.pause();
      });
      const { upload, records } = uploader(server.baseUrl);
      const ran = await upload([large(), '--timeout', `${ms}ms`], { clock: slowToRetry });
      return server.requests.length === 0 ? undefined : { ran, records };
    });
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 8, type: 'service' });
    expect(ran.error()).toMatchObject({
      message: expect.stringMatching(/^Could not send the whole request to http:\S+ within \d+ms \(--timeout\)\.$/),
    });
    expect(ran.json()).toMatchObject([{ id: null, status: 'failed' }]);
    expect(await records()).toEqual([]);
  });

  it('and breaks every time is not called out of reach', async () => {
    const server = await uploadServer(async (coming, response) => {
      await coming.reached(1);
      response.socket?.resetAndDestroy();
    });
    const { upload, records } = uploader(server.baseUrl);
    const ran = await upload([large(), '--retries', '1']);
    expect(ran.error().message).toBe(`Could not send the whole request to ${server.baseUrl} after 2 attempts.`);
    expect(await records()).toEqual([]);
  });
});
