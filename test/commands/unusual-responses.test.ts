import { expect, it } from 'vitest';
import { startFakeService } from '../support/fake-service.ts';
import { partnerctl } from '../support/run.ts';

const LIST = ['spaces', 'list', '-o', 'json'];

it('a response whose bytes are not UTF-8 is refused, but the raw call passes it on', async () => {
  const bytes = Buffer.from(JSON.stringify([{ space_id: 's1', name: 'Täglich' }]), 'latin1');
  const { baseUrl } = await startFakeService((_, response) => response.writeHead(200).end(bytes));
  const ran = await partnerctl(baseUrl, LIST);
  expect(ran.code).toBe(8);
  expect(ran.error()).toMatchObject({ type: 'unexpected_shape', details: { seen: 'text that is not UTF-8' } });
  expect((await partnerctl(baseUrl, ['api', 'GET', '/automation/spaces/'])).code).toBe(0);
});

it('a response that does not end is aborted when it is larger than any expected one, and is not retried', async () => {
  const server = await startFakeService((_, response) => {
    response.writeHead(200);
    const chunk = Buffer.alloc(1024 * 1024, ' ');
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', more);
    more();
  });
  const ran = await partnerctl(server.baseUrl, LIST);
  expect(ran.code).toBe(8);
  expect(ran.error()).toMatchObject({ details: { reason: 'UND_ERR_RES_EXCEEDED_MAX_SIZE', attempts: 1 } });
});

it('a response deeper than 200 levels is refused', async () => {
  const text = `[{"space_id":"s1","x":${'['.repeat(5_000)}${']'.repeat(5_000)}}]`;
  const { baseUrl } = await startFakeService((_, response) => response.end(text));
  const ran = await partnerctl(baseUrl, LIST);
  expect(ran).toMatchObject({ code: 8, stdout: '' });
  expect(ran.error().message).toContain('nested deeper than 200 levels');
});
