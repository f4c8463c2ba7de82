import { expect, it } from 'vitest';
import { sendJson, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';

it.each([
  [10_000, 0, 10_000],
  // A page is shown once it is known how the list continues.
  [10_001, 8, 9_999],
])('A list of %i pages with one space each ends with %i: at most 10,000 are read', async (pages, code, shown) => {
  const service = await startFakeService((request, response) => {
    const page = Number(request.query.get('page') ?? 1);
    sendJson(response, { items: [{ space_id: `s${page}` }], next_page: page < pages ? page + 1 : null });
    service.requests.length = 0;
  });
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'pat_0123456789', HOME: tempDirectory() };
  const ran = await run(['spaces', 'list', '-o', 'ndjson'], { env });
  expect(ran.code).toBe(code);
  expect(ran.stdout.trimEnd().split('\n')).toHaveLength(shown);
  if (code !== 0) expect(ran.stderr).toContain('The list is endless.');
});
