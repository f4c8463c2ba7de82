import { expect, test } from 'vitest';
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
