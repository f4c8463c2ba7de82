import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { StreamedBody } from '../../src/api/streamed-body.ts';
import { createUpload } from '../../src/api/uploads.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import { CredentialsError, InterruptedError } from '../../src/errors.ts';
import { readLog } from '../../src/state/file-store.ts';
import { client, partnerctl, TOKEN, withinLimit } from '../support/api-client.ts';
import {
  createGate,
  cut,
  type FakeRequest,
  type FakeService,
  type Handler,
  json,
  neverAnswer,
  reset,
  resetOnHeaders,
  type Script,
  type Step,
  sendJson,
  startFakeService,
} from '../support/fake-service.ts';
import { manualSignals, type Ran, type RunOptions, tempDirectory, tinyRandom } from '../support/run.ts';
import { write } from '../support/service.ts';
import { listen, rawJson } from '../support/tcp-server.ts';

const MB = 1024 * 1024;
const LARGE = 24 * MB;

/** Writes a sparse file, which takes no space on the disk, and returns its path. */
function largeFile(bytes = LARGE): string {
  const path = write('large.bin', '');
  truncateSync(path, bytes);
  return path;
}

const smallFile = (): string => write('small.txt', 'hello');

/** Waits so long before a retry that a deadline passes during the wait. */
const slowToRetry: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.max(ms, 120), signal),
};

/** The result of a file in `upload -o json`. */
interface UploadedFile {
  readonly id: string | null;
  readonly status: string;
}

interface Uploader {
  /** The path of the state file. */
  readonly state: string;
  upload(args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** The types of the records in the state file, in order. */
  records(): Promise<string[]>;
}

function createUploader(baseUrl: string): Uploader {
  const state = join(tempDirectory(), 'state.jsonl');
  return {
    state,
    upload: (args, options = {}) =>
      partnerctl(baseUrl, ['upload', ...args, '-o', 'json', '--state', state], { random: tinyRandom, ...options }),
    records: async () => {
      const types: string[] = [];
      for await (const entry of readLog(state)) {
        if (entry.kind !== 'record') throw new Error(`Line ${entry.line} of the state file is ${entry.kind}.`);
        types.push(entry.record.type.replace('upload.', ''));
      }
      return types;
    },
  };
}

/** Starts a service, and returns it with an uploader that has its own state file. */
async function startUploads(script: Script): Promise<Uploader & { service: FakeService }> {
  const service = await startFakeService(script);
  return { service, ...createUploader(service.baseUrl) };
}

const sendId = (response: Parameters<Handler>[1], id: string): void =>
  sendJson(response, { file_attachment_id: id }, 201);

/** Reads the entire body and returns an id. */
const accept: Handler = (_, response, count) => sendId(response, `att_${count}`);

/** Responds as soon as this much of the body has arrived, and continues to read. */
function refuseEarly(status: number, bytes: number, headers: Record<string, string> = {}): Step {
  return {
    onHeaders: async (request, response) => {
      if (bytes > 0) await request.readBytes(bytes);
      else void request.readBody();
      sendJson(response, { code: 'the_code', message: 'Not this.' }, status, headers);
    },
  };
}

/** Runs once this much of the body has arrived. */
function onceReceived(bytes: number, handler: Handler): Step {
  return {
    onHeaders: async (request, response, count) => {
      await request.readBytes(bytes);
      await handler(request, response, count);
    },
  };
}

/** Sends a response while the body is unread, and continues to read: only the end of the form is missing for a small file. */
function respondFirst(handler: Handler): Step {
  return {
    onHeaders: (request, response, count) => {
      void request.readBody();
      return handler(request, response, count);
    },
  };
}

const completed = ({ requests }: FakeService): boolean[] => requests.map(({ isComplete }) => isComplete);

function statusesOf(ran: Ran): string[] {
  return ran.json<UploadedFile[]>().map(({ status }) => status);
}

function expectUnknown(ran: Ran): void {
  expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 9, type: 'outcome_unknown' });
  expect(ran.json()).toMatchObject([{ id: null, status: 'unknown' }]);
}

it('an upload has a known length, and the token in only one header', async () => {
  const { service, upload } = await startUploads(accept);
  expect((await upload([smallFile(), '--field', 'kind=manual'])).code).toBe(0);
  const [request] = service.requests;
  const { authorization, 'content-length': length, ...others } = request?.headers ?? {};
  expect(authorization).toBe(`Bearer ${TOKEN}`);
  expect(others['transfer-encoding']).toBeUndefined();
  expect(Number(length)).toBe(request?.bytes);
  expect(JSON.stringify(others) + request?.path + request?.body).not.toContain(TOKEN);
  expect(request?.path).toBe('/v1/automation/file-attachments/');
  expect(others['content-type']).toMatch(/^multipart\/form-data; boundary=/);
});

it('copies of one file do not block other files', async () => {
  const other = createGate();
  const { upload } = await startUploads(async (request, response, count) => {
    // The copies wait for the file that comes after all of them.
    if (request.body.includes('other.txt')) other.open();
    else await other.pass();
    sendJson(response, { id: `att_${count}` }, 201);
  });
  const copies = Array.from({ length: 3 }, () => write('same.txt', 'same'));
  const ran = await upload([...copies, write('other.txt', 'other'), '--concurrency', '2']);
  const [last, ...same] = statusesOf(ran).reverse();
  expect(last).toBe('uploaded');
  // Any of the copies may have been read first.
  expect(same.sort()).toEqual(['skipped', 'skipped', 'uploaded']);
});

it('a service that returns the token as an id leaves the file unknown, and the token in no file', async () => {
  const { upload, state } = await startUploads(json({ id: TOKEN }, 201));
  const ran = await upload([smallFile()]);
  expectUnknown(ran);
  expect(ran.stderr + readFileSync(state, 'utf8')).not.toContain(TOKEN);
});

it('a file whose name contains the token is not completed, because the state file would have to contain it', async () => {
  const { service, upload, state } = await startUploads(accept);
  const ran = await upload([write(`${TOKEN}.txt`, 'hello')]);
  expect({ code: ran.code, message: ran.error().message }).toEqual({
    code: 2,
    message: 'A secret would be written to the state.',
  });
  expect(completed(service)).toEqual([false]);
  expect(readFileSync(state, 'utf8')).not.toContain(TOKEN);
});

it.each([
  ['401 Unauthorized', 3],
  ['402 Payment Required', 6],
  ['413 Content Too Large', 1],
])('a rejected upload whose connection is reset has failed, and is never unknown: %s', async (line, exit) => {
  const reply = rawJson({ message: 'Not this.' }, line, 'connection: close\r\n');
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.pause();
      socket.write(reply, () => socket.destroy());
    });
  });
  const { upload, records } = createUploader((await listen(server)).baseUrl);
  const ran = await upload([largeFile(), '--retries', '0']);
  // Whether the response or the reset arrives first depends on the system.
  expect(ran.code).toBeOneOf([exit, 8]);
  expect(await records()).toEqual([]);
});

describe('an early rejection of a large file', () => {
  it.each([
    [401, 3, 'credentials'],
    [402, 6, 'balance_too_low'],
    [403, 3, 'credentials'],
    [413, 1, 'refused'],
  ])('with %i stops the transfer and is reported as itself', async (status, exit, type) => {
    const { service, upload, records } = await startUploads(refuseEarly(status, 100_000));
    const ran = await upload([largeFile()]);
    expect(ran.code).toBe(exit);
    const details = { why: expect.stringMatching('Not this') };
    expect(ran.error()).toMatchObject({ type, status, code: 'the_code', details });
    expect(ran.json()).toMatchObject([{ id: null, status: 'failed', error: { type, status } }]);
    const [request] = service.requests;
    await request?.closed();
    expect(completed(service)).toEqual([false]);
    expect(request?.bytes).toBeLessThan(LARGE / 2);
    expect(await records()).toEqual([]);
  });

  it('with 307 is not followed, and leaves no connection or file open', async () => {
    const { service, upload, records } = await startUploads(refuseEarly(307, 100_000, { location: '/elsewhere' }));
    const ran = await upload([largeFile()]);
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 8, type: 'service' });
    expect(ran.stderr).toContain('/elsewhere');
    expect(service.requests).toHaveLength(1);
    expect(await records()).toEqual([]);
  });
});

describe('a file that the service received incompletely', () => {
  it.each<[string, Step]>([
    ['an early 503', refuseEarly(503, 100_000)],
    ['an early 429', refuseEarly(429, 100_000, { 'retry-after': '0' })],
    ['a reset before any of the body', resetOnHeaders],
    ['a reset in the middle of it', onceReceived(MB, reset)],
    ['the end of the connection in the middle of it', onceReceived(MB, (_, response) => response.destroy())],
  ])('is sent again after %s', async (_, fault) => {
    const { service, upload, records } = await startUploads([fault, fault, accept]);
    const ran = await upload([largeFile()]);
    expect(ran.json()).toMatchObject([{ id: 'att_3', status: 'uploaded' }]);
    expect(ran.code).toBe(0);
    expect(completed(service)).toEqual([false, false, true]);
    expect(await records()).toEqual(['sent', 'done']);
  });

  it('fails after the number of retries in --retries', async () => {
    const { service, upload, records } = await startUploads(refuseEarly(503, 0));
    const ran = await upload([largeFile(), '--retries', '2']);
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 8, type: 'service' });
    expect(service.requests).toHaveLength(3);
    expect(await records()).toEqual([]);
  });

  it('is not uploaded, even if its id arrives early', async () => {
    const { upload, records } = await startUploads(onceReceived(MB, (_, response) => sendId(response, 'att_early')));
    const ran = await upload([largeFile()]);
    expect(ran.code).toBe(8);
    expect(ran.json()).toMatchObject([{ id: null, status: 'failed' }]);
    expect(ran.stderr).toContain('att_early');
    expect(await records()).toEqual([]);
  });

  it.each<[string, (path: string) => void]>([
    ['grows', (path) => appendFileSync(path, 'more')],
    [
      'is written to in place, and its time is set back',
      (path) => {
        const file = openSync(path, 'r+');
        writeSync(file, 'other', LARGE - 100);
        closeSync(file);
        utimesSync(path, 1, 1);
      },
    ],
  ])('is never completed if it %s while it is being sent', async (_, change) => {
    const path = largeFile();
    utimesSync(path, 1, 1);
    const { service, upload, records } = await startUploads(onceReceived(MB, () => change(path)));
    const ran = await upload([path]);
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 1, type: 'local' });
    expect(ran.error().message).toContain('changed while it was being uploaded');
    expect(completed(service)).toEqual([false]);
    expect(await records()).toEqual([]);
  });
});

describe('a file that the service received completely', () => {
  it.each<[string, Handler, 'limited'?]>([
    ['a reset', reset],
    ['a 201 that is cut', cut('{"file_attachment_id": "att', 201)],
    ['a 201 with a page', (_, response) => response.writeHead(201).end('<title>Welcome</title>')],
    ['a 201 without an id', json({ ok: true }, 201)],
    ['a 201 without a body', (_, response) => response.writeHead(201).end()],
    ['a 502', json({}, 502)],
    ['a 503 with Retry-After', json({}, 503, { 'retry-after': '0' })],
    ['a redirect', (_, response) => response.writeHead(303, { location: '/v1/x' }).end()],
    ['no response within --timeout', neverAnswer, 'limited'],
  ])('is unknown after %s, and sent again only with --retry-unknown', async (_, fault, limited) => {
    const path = smallFile();
    const { service, upload, records, lost } = await withinLimit(async (ms) => {
      const uploads = await startUploads([fault, accept]);
      const lost = await uploads.upload([path, ...(limited ? ['--timeout', `${ms}ms`] : [])]);
      const hasArrived = !limited || uploads.service.requests[0]?.isComplete;
      return hasArrived ? { ...uploads, lost } : undefined;
    });
    expectUnknown(lost);
    expect(lost.error().hint).toContain('--retry-unknown');
    expect(await records()).toEqual(['sent', 'unknown']);

    const still = await upload([path]);
    expect({ code: still.code, statuses: statusesOf(still) }).toEqual({ code: 9, statuses: ['unknown'] });
    expect(service.requests).toHaveLength(1);

    const again = await upload([path, '--retry-unknown']);
    expect(again.json()).toMatchObject([{ id: 'att_2', status: 'uploaded' }]);
    expect((await upload([path, '--retry-unknown'])).json()).toMatchObject([{ id: 'att_2', status: 'skipped' }]);
    expect(service.requests).toHaveLength(2);
  });

  it('is released by a 422, which proves that nothing was created', async () => {
    const { upload, records } = await startUploads([json({}, 422), accept]);
    const path = smallFile();
    expect((await upload([path])).code).toBe(1);
    expect(await records()).toEqual(['sent', 'released']);
    expect((await upload([path])).json()).toMatchObject([{ status: 'uploaded' }]);
  });

  it('is unknown after a redirect, with a hint to check the base URL', async () => {
    const { upload } = await startUploads((_, response) => response.writeHead(302, { location: '/login' }).end());
    const ran = await upload([smallFile()]);
    expect(ran.error()).toMatchObject({ type: 'outcome_unknown', hint: expect.stringMatching(/Check the base URL/) });
  });
});

describe('a response that arrives when only the end of the form is missing', () => {
  it('counts if it has an id', async () => {
    const { upload, records } = await startUploads(respondFirst((_, response) => sendId(response, 'att_quick')));
    const ran = await upload([smallFile()]);
    expect(ran.code).toBe(0);
    expect(ran.json()).toMatchObject([{ id: 'att_quick', status: 'uploaded', sha256: expect.any(String) }]);
    expect((await records()).at(-1)).toBe('done');
  });

  it('may arrive in two parts', async () => {
    const text = JSON.stringify({ file_attachment_id: 'att_slow' });
    const respond: Handler = async (request, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': text.length });
      response.write(text.slice(0, 5));
      await request.readBody();
      response.end(text.slice(5));
    };
    const { service, upload, records } = await startUploads(respondFirst(respond));
    expect((await upload([smallFile()])).json()).toMatchObject([{ id: 'att_slow', status: 'uploaded' }]);
    expect(service.requests).toHaveLength(1);
    expect((await records()).toSorted()).toEqual(['done', 'sent']);
  });

  it.each<[string, Handler]>([
    ['is not JSON', (_, response) => response.writeHead(201).end('not JSON')],
    ['is cut', cut('{"file_attachment_id": "att', 201)],
  ])('leaves the file unknown if it %s', async (_, respond) => {
    const { service, upload, records } = await startUploads([respondFirst(respond), accept]);
    const path = smallFile();
    expectUnknown(await upload([path]));
    expect((await records()).slice(-2)).toEqual(['sent', 'unknown']);
    expect((await upload([path])).json()).toMatchObject([{ status: 'unknown' }]);
    expect(service.requests).toHaveLength(1);
  });

  it('leaves the file unknown if Ctrl-C interrupts it', async () => {
    const signals = manualSignals();
    const interrupt = (): void => void setImmediate(() => signals.abort(new InterruptedError('Interrupted.')));
    subscribe('undici:request:headers', interrupt);
    onTestFinished(() => void unsubscribe('undici:request:headers', interrupt));
    const respond: Handler = (_, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': '50' });
      response.write('{"file_attachment_id": "att');
    };
    const { upload, records } = await startUploads(respondFirst(respond));
    expect((await upload([smallFile()], { signals })).json()).toMatchObject([{ id: null, status: 'unknown' }]);
    expect(await records()).toEqual(['sent', 'unknown']);
  });
});

it('the source of a body is notified when the attempt is over', async () => {
  const { http } = client((await startFakeService(refuseEarly(401, 1))).baseUrl);
  let told: Promise<void> | undefined;
  const body: StreamedBody = {
    contentType: 'application/octet-stream',
    bytes: 2,
    closingBytes: 1,
    async *chunks(attemptEnded) {
      told = new Promise((resolve) => attemptEnded.addEventListener('abort', () => resolve()));
      yield Buffer.from('x');
      await told;
    },
  };
  await expect(createUpload(http, 'attachment', body)).rejects.toThrow(CredentialsError);
  await told;
});

it('a rate limit beyond the deadline ends the run immediately, and says when to retry', async () => {
  const { service, upload, records } = await startUploads(refuseEarly(429, 0, { 'retry-after': '3600' }));
  const ran = await upload([largeFile(), largeFile()]);
  expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 7, type: 'rate_limited' });
  expect(ran.error().hint).toMatch(/^Run the command again after \d{4}-/);
  expect(service.requests.length).toBeLessThanOrEqual(2);
  expect(await records()).toEqual([]);
});

it('a file that no longer exists when its turn comes fails, and others of its name are uploaded', async () => {
  const [first = '', gone = '', last = ''] = ['one', 'two', 'six'].map((content) => write('index.html', content));
  const { upload } = await startUploads((request, response, count) => {
    rmSync(gone, { force: true });
    return accept(request, response, count);
  });
  const ran = await upload([first, gone, last, '--concurrency', '1']);
  expect(ran.code).toBe(10);
  expect(ran.json()).toMatchObject([
    { status: 'uploaded' },
    { status: 'failed', error: { message: `${gone} cannot be read.` } },
    { status: 'uploaded' },
  ]);
});

describe('a file that another process is uploading', () => {
  /** A clock whose waits are counted by `onSleep`. */
  function watchSleep(onSleep: (count: number) => void): Clock {
    let count = 0;
    return {
      ...systemClock,
      sleep: (ms, signal) => {
        count += 1;
        onSleep(count);
        return systemClock.sleep(ms, signal);
      },
    };
  }

  it('is waited for with --force, too, and then sent once', async () => {
    const gate = createGate();
    // The first response arrives only after the second process has checked several times.
    const clock = watchSleep((count) => count === 4 && gate.open());
    let second: Promise<Ran> | undefined;
    const first: Handler = async (_, response) => {
      second = upload([path, '--force'], { clock });
      await gate.pass();
      sendId(response, 'att_1');
    };
    const { service, upload } = await startUploads([first, accept]);
    const path = smallFile();
    expect((await upload([path])).json()).toMatchObject([{ id: 'att_1', status: 'uploaded' }]);
    expect((await second)?.json()).toMatchObject([{ id: 'att_3', status: 'uploaded' }]);
    expect(completed(service)).toEqual([true, false, true]);
  });

  it('is waited for and then skipped, for twelve files concurrently without a warning of Node.js', async () => {
    const warnings: string[] = [];
    // Other warnings may be about what ran in this process before.
    const keep = ({ name }: Error): void => void (name === 'MaxListenersExceededWarning' && warnings.push(name));
    process.on('warning', keep);
    onTestFinished(() => void process.off('warning', keep));
    const paths = Array.from({ length: 12 }, (_, index) => write(`${index}.txt`, String(index)));
    const args = [...paths, '--concurrency', '12'];
    const gate = createGate();
    const clock = watchSleep((count) => count === paths.length && gate.open());
    let second: Promise<Ran> | undefined;
    const { service, upload, records } = await startUploads(async (request, response, count) => {
      if (count === paths.length) second = upload(args, { clock });
      await gate.pass();
      await accept(request, response, count);
    });
    expect((await upload(args)).code).toBe(0);
    const other = await second;
    expect(other?.code).toBe(0);
    expect(other && statusesOf(other)).toEqual(paths.map(() => 'skipped'));
    expect(service.requests).toHaveLength(12);
    expect(new Set(await records())).toEqual(new Set(['sent', 'done']));
    expect(warnings).toEqual([]);
  });

  it('is no longer waited for after Ctrl-C', async () => {
    const signals = manualSignals();
    const gate = createGate();
    const clock = watchSleep((count) => {
      // A process that kept waiting would find the file uploaded.
      if (count > 1) gate.open();
      else signals.abort(new InterruptedError('Interrupted.'));
    });
    let second: Promise<Ran> | undefined;
    const { upload } = await startUploads(async (_, response) => {
      second = upload([path], { signals, clock });
      void second.then(gate.open);
      await gate.pass();
      sendId(response, 'att_1');
    });
    const path = smallFile();
    expect((await upload([path])).json()).toMatchObject([{ id: 'att_1', status: 'uploaded' }]);
    const ran = await second;
    expect(ran?.code).toBe(130);
    expect(ran?.json()).toMatchObject([{ id: null, status: 'failed', error: { type: 'interrupted' } }]);
  });
});

it('Ctrl-C after the entire file was sent waits for the response', async () => {
  const signals = manualSignals();
  const { upload, records } = await startUploads((request, response, count) => {
    signals.abort(new InterruptedError('Interrupted.'));
    return accept(request, response, count);
  });
  const ran = await upload([smallFile(), '-v'], { signals, clock: systemClock });
  expect(ran.json()).toMatchObject([{ id: 'att_1', status: 'uploaded' }]);
  expect(ran.stderr).toContain('waiting 5.0 s at most for the response');
  expect(await records()).toEqual(['sent', 'done']);
});

describe('a service that reads slowly', () => {
  const CHUNK = Buffer.alloc(MB);

  /** A body of one-megabyte chunks. */
  function chunkedBody(count: number, onChunk: () => void): StreamedBody {
    return {
      contentType: 'application/octet-stream',
      bytes: count * MB,
      closingBytes: 0,
      async *chunks() {
        for (let sent = 0; sent < count; sent += 1) {
          yield CHUNK;
          onChunk();
        }
      },
    };
  }

  /** Resolves with a value once it no longer changes. */
  async function untilStable(read: () => number): Promise<number> {
    for (let last = -1; ; ) {
      const now = read();
      if (now === last && now > 0) return now;
      last = now;
      await systemClock.sleep(150);
    }
  }

  it('throttles the read of the file, which is not buffered in memory', async () => {
    const paused = createGate();
    let request: FakeRequest | undefined;
    const service = await startFakeService({
      onHeaders: async (arrived, response, count) => {
        await arrived.readBytes(1);
        arrived.incoming.pause();
        request = arrived;
        paused.open();
        await arrived.readBody();
        await accept(arrived, response, count);
      },
    });
    const { http } = client(service.baseUrl, { clock: systemClock });
    let taken = 0;
    const body = chunkedBody(200, () => {
      taken += 1;
    });
    const uploading = createUpload(http, 'attachment', body);
    await paused.pass();
    expect(await untilStable(() => taken)).toBeLessThan(50);
    request?.incoming.resume();
    expect(await uploading).toBe('att_1');
    expect(request?.bytes).toBe(200 * MB);
  });

  it('may take any time while it makes progress', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let now = 0;
    const service = await startFakeService(accept);
    const { http } = client(service.baseUrl, { clock: { ...systemClock, now: () => now } });
    const body = chunkedBody(5, () => {
      now += 100_000;
      vi.advanceTimersByTime(100_000);
    });
    expect(await createUpload(http, 'attachment', body)).toBe('att_1');
  });

  it('fails at the deadline of the command despite its progress', async () => {
    // Reading at this pace takes longer than any test may.
    const path = largeFile(4_000 * MB);
    const readSlowly: Handler = async (request) => {
      const closed = request.closed().then(() => true);
      void request.readBody();
      for (let isOver = false; !isOver; ) {
        request.incoming.pause();
        isOver = await Promise.race([closed, systemClock.sleep(100).then(() => false)]);
        request.incoming.resume();
        await request.readBytes(request.bytes + 4 * MB);
      }
    };
    const { service, ran, records } = await withinLimit(async (ms) => {
      const uploads = await startUploads({ onHeaders: readSlowly });
      const ran = await uploads.upload([path, '--timeout', `${ms}ms`], { clock: slowToRetry });
      const [request] = uploads.service.requests;
      return (request?.bytes ?? 0) > 8 * MB ? { ...uploads, ran } : undefined;
    });
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 8, type: 'service' });
    expect(completed(service)).toEqual([false]);
    expect(await records()).toEqual([]);
  });

  it('and then stops is abandoned within --timeout, with nothing left open', async () => {
    const stop = onceReceived(1, ({ incoming }) => incoming.pause());
    const { ran, records } = await withinLimit(async (ms) => {
      const { service, upload, records } = await startUploads(stop);
      const ran = await upload([largeFile(), '--timeout', `${ms}ms`, '-v'], { clock: slowToRetry });
      return service.requests.length === 0 ? undefined : { ran, records };
    });
    expect(ran.code).toBe(8);
    const [error = ''] = ran.stderr.split('\n').filter((line) => line.startsWith('{'));
    expect(JSON.parse(error).error).toMatchObject({
      type: 'service',
      message: expect.stringMatching(/^Could not send the whole request to http:\S+ within \d+ms \(--timeout\)\.$/),
    });
    expect(ran.stderr).toMatch(
      /^\* POST \S+ → failed before all of it was sent: the rest of the request could not be sent in time /m,
    );
    expect(ran.json()).toMatchObject([{ id: null, status: 'failed' }]);
    expect(await records()).toEqual([]);
  });

  it('and closes every connection is not reported as unreachable', async () => {
    const { service, upload, records } = await startUploads(onceReceived(1, reset));
    const ran = await upload([largeFile(), '--retries', '1']);
    expect(ran.error().message).toBe(`Could not send the whole request to ${service.baseUrl} after 2 attempts.`);
    expect(await records()).toEqual([]);
  });
});
