import { expect, it } from 'vitest';
import { listAll } from '../../src/api/list-all.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { client } from '../faults/http-client.ts';
import { sendJson, startFakeService } from '../support/fake-service.ts';

/** Reads a list of one space on each page. */
async function readPages(pages: number): Promise<{ read: number; error: unknown }> {
  const service = await startFakeService((request, response) => {
    const page = Number(request.query.get('page') ?? 1);
    sendJson(response, { items: [{ space_id: `s${page}` }], next_page: page < pages ? page + 1 : null });
    service.requests.length = 0;
  });
  const { http } = client(service.baseUrl);
  let read = 0;
  let error: unknown;
  try {
    for await (const _ of listAll(http, OPERATIONS.listSpaces, 'spaces')) read += 1;
  } catch (caught) {
    error = caught;
  }
  return { read, error };
}

it('a list of ten thousand pages is read, and one more page is rejected', async () => {
  expect(await readPages(10_000)).toMatchObject({ read: 10_000, error: undefined });
  const { read, error } = await readPages(10_001);
  expect(read).toBe(10_000);
  expect(String(error)).toContain('more than 10,000 pages');
});
