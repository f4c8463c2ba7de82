import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { appendFileSync, closeSync, openSync, readFileSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGate, cut, type Handler, json, reset, type Step } from '../support/fake-service.ts';
import { fastClock, fasterClock, manualSignals, type Ran, type RunOptions, stallingClock } from '../support/run.ts';
import { write } from '../support/service.ts';
import { findClosedPort, listen, startRawService, UNRESOLVABLE_HOST } from '../support/tcp-server.ts';
import {
  accept,
  completed,
  LARGE,
  largeFile,
  MB,
  onceReceived,
  refuseEarly,
  sendId,
  smallFile,
  startUploads,
  statusesOf,
  uploadsTo,
} from '../support/uploads.ts';

/* The specification does not call uploads safe to repeat: a file that the service may have is never sent again on its own. */

/** The length of the end of a form, which begins with its boundary. */
const END = '\r\n--partnerctl---\r\n'.length + 32;

/** Responds as soon as only the end of the form may be missing, and continues to read. */
function respondBeforeEnd(handler: Handler): Step {
  return {
    onHeaders: async (request, response, count) => {
      await request.readBytes(Number(request.headers['content-length']) - END);
      void request.readBody();
      await handler(request, response, count);
    },
  };
}

function expectUnknown(ran: Ran): void {
  expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 9, type: 'outcome_unknown' });
  expect(ran.json()).toMatchObject([{ id: null, status: 'unknown' }]);
}

describe('A file of which nothing left this machine has failed, and is not unknown:', () => {
  /** Uploads a file to a URL at which no request can arrive. */
  async function uploadTo(baseUrl: string, options: RunOptions = {}, ...flags: string[]) {
    const { upload, records } = uploadsTo(baseUrl);
    const clock = fastClock();
    const ran = await upload([smallFile(), ...flags], { clock, ...options });
    expect(ran.json()).toMatchObject([{ id: null, status: 'failed' }]);
    const kinds = await records();
    const count = (kind: string): number => kinds.filter((type) => type === kind).length;
    expect(count('released')).toBe(count('reserved'));
    return { ran, slept: clock.slept };
  }

  it('a refused connection, which is tried again, or an unknown host name', async () => {
    const { ran, slept } = await uploadTo(`http://127.0.0.1:${await findClosedPort()}/v1`);
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({ details: { reason: 'ECONNREFUSED', left: false } });
    expect(slept).toHaveLength(3);
    const unknown = (await uploadTo(`https://${UNRESOLVABLE_HOST}/v1`)).ran;
    expect(unknown.code).toBe(8);
    expect(unknown.error()).toMatchObject({ details: { left: false } });
  });

  it('a --timeout before the connection was established', async () => {
    const clock = stallingClock();
    const { baseUrl } = await listen(createServer(clock.stall), 'https');
    expect((await uploadTo(baseUrl, { clock }, '--timeout', '3s')).ran.code).toBe(8);
  });

  it('a proxy that does not open the tunnel', async () => {
    const { port, requests } = await startRawService('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n');
    const env = { HTTPS_PROXY: `http://127.0.0.1:${port}` };
    const { ran } = await uploadTo('https://api.partner.test/v1', { env }, '--retries', '0');
    expect(ran.code).toBe(8);
    expect(requests).toHaveLength(1);
  });

  it('Ctrl-C while the connection was being established', async () => {
    const signals = manualSignals();
    const { baseUrl } = await listen(createServer(signals.ctrlC), 'https');
    expect((await uploadTo(baseUrl, { signals, clock: fasterClock(1) })).ran.code).toBe(130);
  });

  it('Ctrl-C between two attempts', async () => {
    const signals = manualSignals();
    const clock = { ...fastClock(), sleep: async () => signals.ctrlC() };
    const { ran } = await uploadTo(`http://127.0.0.1:${await findClosedPort()}/v1`, { signals, clock });
    expect(ran.code).toBe(130);
  });
});

describe('A file that the service received incompletely', () => {
  it.each<[string, Step]>([
    ['an early 503', refuseEarly(503, 100_000)],
    ['an early 429', refuseEarly(429, 100_000, { 'retry-after': '0' })],
    ['a reset before any of the body', { onHeaders: reset }],
    ['a reset in the middle of it', onceReceived(MB, reset)],
    ['the end of the connection in the middle of it', onceReceived(MB, (_, response) => response.destroy())],
  ])('is sent again after %s', async (_, fault) => {
    const { service, upload, records } = await startUploads([fault, fault, accept]);
    const ran = await upload([largeFile()]);
    expect(ran.json()).toMatchObject([{ id: 'att_3', status: 'uploaded' }]);
    expect(ran.code).toBe(0);
    expect(completed(service)).toEqual([false, false, true]);
    expect(await records()).toEqual(['reserved', 'created']);
  });

  it('fails after the number of retries in --retries', async () => {
    const { service, upload, records } = await startUploads(refuseEarly(503, 1));
    const ran = await upload([largeFile(), '--retries', '2']);
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 8, type: 'service' });
    expect(service.requests).toHaveLength(3);
    expect(await records()).toEqual(['reserved', 'released']);
  });

  it('is not uploaded, even if its id arrives early', async () => {
    const { upload, records } = await startUploads(onceReceived(MB, (_, response) => sendId(response, 'att_early')));
    const ran = await upload([largeFile()]);
    expect(ran.code).toBe(8);
    expect(ran.json()).toMatchObject([{ id: null, status: 'failed' }]);
    expect(ran.stderr).toContain('att_early');
    expect(await records()).toEqual(['reserved', 'released']);
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
    expect(await records()).toEqual(['reserved', 'released']);
  });
});

describe('A file that the service received completely', () => {
  const toLogin: Handler = (_, response) => response.writeHead(302, { location: '/login' }).end();

  it.each<[string, Handler?]>([
    ['a reset', reset],
    ['a 201 that is cut', cut('{"file_attachment_id": "att', 201)],
    ['a 201 with a page', (_, response) => response.writeHead(201).end('<title>Welcome</title>')],
    ['a 201 without an id', json({ ok: true }, 201)],
    ['a 502', json({}, 502)],
    ['a 503 with Retry-After', json({}, 503, { 'retry-after': '0' })],
    ['a redirect', toLogin],
    ['no response within --timeout'],
  ])('is unknown after %s, and sent again only with --retry-unknown', async (_, given) => {
    const path = smallFile();
    const clock = stallingClock();
    const fault = given ?? ((_, response) => clock.stall(response));
    const { service, upload, records } = await startUploads([fault, accept]);
    const lost = await upload([path, '--timeout', '3s'], { clock });
    expectUnknown(lost);
    expect(lost.error().hint).toContain('--retry-unknown');
    if (fault === toLogin) expect(lost.stderr).toContain('Check the base URL');
    expect(await records()).toEqual(['reserved', 'unknown']);

    for (const flags of [[], ['--force']]) {
      const still = await upload([path, ...flags]);
      expect({ code: still.code, statuses: statusesOf(still) }).toEqual({ code: 9, statuses: ['unknown'] });
    }
    expect(service.requests).toHaveLength(1);

    const again = await upload([path, '--retry-unknown']);
    expect(again.json()).toMatchObject([{ id: 'att_2', status: 'uploaded' }]);
    expect((await upload([path, '--retry-unknown'])).json()).toMatchObject([{ id: 'att_2', status: 'skipped' }]);
    expect(service.requests).toHaveLength(2);
  });

  it.each([
    [402, 6, 'balance_too_low'],
    [429, 7, 'rate_limited'],
    // It proves that nothing was created.
    [422, 1, 'refused'],
  ])('is not sent again after a %i, nor waited for, and not blocked either: exit %i', async (status, code, type) => {
    const clock = fastClock();
    const { service, upload, records } = await startUploads([json({}, status, { 'retry-after': '1' }), accept]);
    const path = smallFile();
    const ran = await upload([path], { clock });
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code, type });
    expect(clock.slept).toEqual([]);
    expect(service.requests).toHaveLength(1);
    expect(await records()).toEqual(['reserved', 'released']);
    expect((await upload([path])).json()).toMatchObject([{ status: 'uploaded' }]);
  });
});

describe('A response that arrives when only the end of the form is missing', () => {
  const inTwoParts: Handler = async (request, response) => {
    const text = JSON.stringify({ file_attachment_id: 'att_quick' });
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': text.length });
    response.write(text.slice(0, 5));
    await request.readBody();
    response.end(text.slice(5));
  };

  it.each<[string, Handler]>([
    ['', (_, response) => sendId(response, 'att_quick')],
    [', also in two parts', inTwoParts],
  ])('counts if it has an id%s', async (_, respond) => {
    const { service, upload, records } = await startUploads(respondBeforeEnd(respond));
    const ran = await upload([largeFile(MB)]);
    expect(ran.code).toBe(0);
    expect(ran.json()).toMatchObject([{ id: 'att_quick', status: 'uploaded', sha256: expect.any(String) }]);
    expect(service.requests).toHaveLength(1);
    expect((await records()).toSorted()).toEqual(['created', 'reserved']);
  });

  it('leaves the file unknown if it is cut', async () => {
    const lost = respondBeforeEnd(cut('{"file_attachment_id": "att', 201));
    const { service, upload, records } = await startUploads([lost, accept]);
    const path = largeFile(MB);
    expectUnknown(await upload([path]));
    expect((await records()).slice(-2)).toEqual(['reserved', 'unknown']);
    expect((await upload([path])).json()).toMatchObject([{ status: 'unknown' }]);
    expect(service.requests).toHaveLength(1);
  });

  it('leaves the file unknown if Ctrl-C interrupts it', async () => {
    const signals = manualSignals();
    const interrupt = (): void => void setImmediate(() => signals.ctrlC());
    subscribe('undici:request:headers', interrupt);
    onTestFinished(() => void unsubscribe('undici:request:headers', interrupt));
    const respond: Handler = (_, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': '50' });
      response.write('{"file_attachment_id": "att');
    };
    const { upload, records } = await startUploads(respondBeforeEnd(respond));
    expect((await upload([largeFile(MB)], { signals })).json()).toMatchObject([{ id: null, status: 'unknown' }]);
    expect(await records()).toEqual(['reserved', 'unknown']);
  });
});

it('The record of an upload stands until --force has made another, whatever becomes of that', async () => {
  let during = '';
  const { service, upload, state } = await startUploads([
    accept,
    (request, response, count) => {
      during = readFileSync(state, 'utf8');
      return json({}, 422)(request, response, count);
    },
    accept,
  ]);
  const path = smallFile();
  await upload([path]);
  expect((await upload([path, '--force'])).code).toBe(1);
  const after = readFileSync(state, 'utf8');
  for (const text of [during, after]) {
    writeFileSync(state, text);
    expect((await upload([path])).json()).toMatchObject([{ id: 'att_1', status: 'skipped' }]);
  }
  expect((await upload([path, '--force'])).json()).toMatchObject([{ id: 'att_3', status: 'uploaded' }]);
  expect((await upload([path])).json()).toMatchObject([{ id: 'att_3', status: 'skipped' }]);
  expect(service.requests).toHaveLength(3);
});

describe('A file that another process is uploading', () => {
  /** A clock whose waits are counted by `onSleep`. */
  function watchSleep(onSleep: (count: number) => void): RunOptions['clock'] & {} {
    const clock = fasterClock(1);
    let count = 0;
    return {
      ...clock,
      sleep: (ms, signal) => {
        count += 1;
        onSleep(count);
        return clock.sleep(ms, signal);
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
    expect((await second)?.json()).toMatchObject([{ id: 'att_2', status: 'uploaded' }]);
    expect(completed(service)).toEqual([true, true]);
  });

  it('is waited for and then skipped, for twelve files concurrently', async () => {
    const paths = Array.from({ length: 12 }, (_, index) => write(`${index}.txt`, String(index)));
    const args = [...paths, '--concurrency', '12'];
    const gate = createGate();
    const clock = watchSleep((count) => count === 2 && gate.open());
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
    expect(new Set(await records())).toEqual(new Set(['reserved', 'created']));
  });

  it('is no longer waited for after Ctrl-C', async () => {
    const signals = manualSignals();
    const gate = createGate();
    const clock = watchSleep((count) => {
      // A process that kept waiting would find the file uploaded.
      if (count > 1) gate.open();
      else signals.ctrlC();
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
