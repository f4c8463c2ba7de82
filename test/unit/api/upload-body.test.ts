import { expect, it, onTestFinished, vi } from 'vitest';
import { createUpload } from '../../../src/api/calls.ts';
import type { StreamedBody } from '../../../src/api/streamed-body.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { startFakeService } from '../../support/fake-service.ts';
import { accept, MB } from '../../support/uploads.ts';
import { client } from './http-client.ts';

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
