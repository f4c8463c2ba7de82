import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createUpload } from '../../../src/api/calls.ts';
import type { StreamedBody } from '../../../src/api/streamed-body.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { createGate, type FakeRequest, startFakeService } from '../../support/fake-service.ts';
import { accept, MB } from '../../support/uploads.ts';
import { client } from './http-client.ts';

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
});
