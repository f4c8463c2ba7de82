import { expect, test } from 'vitest';
import { sendJson, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';

/** Checks texts as the manifests a.yaml, b.yaml, and so on. */
function check(...texts: readonly string[]) {
  const HOME = tempDirectory();
  const files = texts.map((text, index) => write(`${'ab'.charAt(index)}.yaml`, text, HOME));
  return run(['provision', '--check', ...files], { env: { HOME } });
}

test('Three thousand documents in one source are read', async () => {
  const documents = Array.from({ length: 3_000 }, (_, index) => manifest(`acme-${index}`));
  expect(await check(documents.join('---\n'))).toMatchObject({ code: 0 });
});

const lists = [...'bcdefghij'].map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[at]}`)}]`);
const maps = Array.from({ length: 12 }, (_, at) => `b${at + 1}: &b${at + 1} {<<: [${Array(9).fill(`*b${at}`)}]}`);

test.each([
  ['lists of aliases', ['a: &a [x, x, x, x, x, x, x, x, x]', ...lists].join('\n')],
  ['merge keys', ['b0: &b0 {x: 1}', ...maps].join('\n')],
])('%s that multiply are refused, and the next source is read', async (_, bomb) => {
  const { code, stderr } = await check(`${manifest('a')}---\n${bomb}\n`, `${manifest('b')}color: red\n`);
  expect(code).toBe(2);
  expect(stderr).toMatch(/a\.yaml:6:1: invalid YAML: .*alias/);
  expect(stderr).toContain('b.yaml:5:1: unknown key "color"');
});

test.each([
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
