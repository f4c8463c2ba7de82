import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { InterruptedError, RateLimitError } from '../../src/errors.ts';
import { sendJson, startFakeService } from '../helpers/fake-service.ts';
import { handSignals } from '../helpers/run.ts';
import { listen } from '../helpers/tcp-server.ts';
import { client, partnerctl } from './client.ts';

const LIST = ['spaces', 'list', '-o', 'json'];
const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error) => error,
  );

/** A moment that a test waits for. */
function moment(): { reached: Promise<void>; reach: () => void } {
  let reach = (): void => undefined;
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  return { reached, reach };
}

describe('Ctrl-C', () => {
  it('stops a read in the middle of its answer, and SIGTERM ends with 143', async () => {
    const { reached, reach } = moment();
    const server = await startFakeService((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('[', reach);
    });
    const signals = handSignals();
    const running = partnerctl(server.baseUrl, LIST, { signals, clock: systemClock });
    await reached;
    signals.abort(new InterruptedError('Interrupted.', 143));
    expect((await running).code).toBe(143);
  });

  it('stops a connection that does not come about', async () => {
    const { reached, reach } = moment();
    const { baseUrl } = await listen(
      createServer(() => reach()),
      'https',
    );
    const signals = handSignals();
    const running = partnerctl(baseUrl, LIST, { signals, clock: systemClock });
    await reached;
    const pressed = performance.now();
    signals.abort(new InterruptedError('Interrupted.'));
    expect((await running).code).toBe(130);
    expect(performance.now() - pressed).toBeLessThan(8000);
  });

  it('lets a call that must happen once finish, and sends nothing after it', async () => {
    const { reached, reach } = moment();
    const { reached: pressed, reach: press } = moment();
    const server = await startFakeService(async (_, response) => {
      reach();
      await pressed;
      sendJson(response, { space_id: 's1' });
    });
    const control = new AbortController();
    const { http } = client(server.baseUrl, { clock: systemClock, interrupt: control.signal });
    const calling = http.call(OPERATIONS.provisionSpace, { json: {}, safety: 'once' });
    await reached;
    control.abort();
    press();
    expect((await calling).json()).toEqual({ space_id: 's1' });
    expect(await failureOf(http.call(OPERATIONS.listSpaces))).toBeInstanceOf(InterruptedError);
    expect(server.requests.length).toBe(1);
  });

  it('before anything was sent sends nothing', async () => {
    const server = await startFakeService((_, response) => sendJson(response, []));
    const signals = handSignals();
    signals.abort(new InterruptedError('Interrupted.'));
    expect((await partnerctl(server.baseUrl, LIST, { signals })).code).toBe(130);
    expect(server.requests).toEqual([]);
  });
});
