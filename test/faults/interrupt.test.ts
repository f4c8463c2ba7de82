import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { InterruptedError } from '../../src/errors.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createGate, json, startFakeService } from '../support/fake-service.ts';
import { manualSignals, partnerctl } from '../support/run.ts';
import { listen } from '../support/tcp-server.ts';

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

  it('sends nothing if it comes before the first request', async () => {
    const server = await startFakeService(json([]));
    const signals = manualSignals();
    signals.abort(new InterruptedError('Interrupted.'));
    expect((await partnerctl(server.baseUrl, LIST, { signals })).code).toBe(130);
    expect(server.requests).toEqual([]);
  });
});
