import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { InterruptedError } from '../../src/errors.ts';
import { createGate, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { manualSignals, partnerctl } from '../support/run.ts';
import { listen } from '../support/tcp-server.ts';
import { client } from './http-client.ts';

const LIST = ['spaces', 'list', '-o', 'json'];
describe('an interrupt', () => {
  it('stops a read in the middle of its response, and SIGTERM exits with 143', async () => {
    const arrived = createGate();
    const server = await startFakeService((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('[', arrived.open);
    });
    const signals = manualSignals();
    const running = partnerctl(server.baseUrl, LIST, { signals, clock: systemClock });
    await arrived.pass();
    signals.abort(new InterruptedError('Interrupted.', 143));
    expect((await running).code).toBe(143);
  });

  it('stops a connection that is never established', async () => {
    const arrived = createGate();
    const { baseUrl } = await listen(
      createServer(() => arrived.open()),
      'https',
    );
    const signals = manualSignals();
    const running = partnerctl(baseUrl, LIST, { signals, clock: systemClock });
    await arrived.pass();
    const started = performance.now();
    signals.abort(new InterruptedError('Interrupted.'));
    expect((await running).code).toBe(130);
    expect(performance.now() - started).toBeLessThan(8000);
  });

  it('lets a call that must happen once finish, and starts no other', async () => {
    const arrived = createGate();
    const interrupted = createGate();
    const server = await startFakeService(async (_, response) => {
      arrived.open();
      await interrupted.pass();
      sendJson(response, { space_id: 's1' });
    });
    const control = new AbortController();
    const { http } = client(server.baseUrl, { clock: systemClock, interrupt: control.signal });
    const calling = http.call(OPERATIONS.provisionSpace);
    await arrived.pass();
    control.abort();
    interrupted.open();
    expect((await calling).json()).toEqual({ space_id: 's1' });
    await expect(http.call(OPERATIONS.listSpaces)).rejects.toThrow(InterruptedError);
    expect(server.requests.length).toBe(1);
  });

  it('sends nothing if it comes before the first request', async () => {
    const server = await startFakeService(json([]));
    const signals = manualSignals();
    signals.abort(new InterruptedError('Interrupted.'));
    expect((await partnerctl(server.baseUrl, LIST, { signals })).code).toBe(130);
    expect(server.requests).toEqual([]);
  });
});
