import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';

const VALID = `external_space_id: acme-001
space:
  name: Acme
agents:
  - template_id: tmpl_support
    name: Support
`;

/** Another source, with a mistake that is reported if it is read. */
const WRONG = `${VALID.replace('acme', 'b')}color: red\n`;

interface Problem {
  readonly source: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Checks texts as the manifests a.yaml, b.yaml, and so on. @returns the problems as `a.yaml:3:5 message` */
async function messagesOf(...texts: readonly string[]): Promise<readonly string[]> {
  const HOME = tempDirectory();
  const files = texts.map((text, index) => write(`${String.fromCharCode(97 + index)}.yaml`, text, HOME));
  const ran = await run(['provision', '--check', ...files, '-o', 'json'], { env: { HOME } });
  if (ran.code === 0) return [];
  const { problems } = ran.error().details as { problems: readonly Problem[] };
  return problems.map(
    ({ source, line, column, message }) => `${source.replace(join(HOME, '/'), '')}:${line}:${column} ${message}`,
  );
}

test('Three thousand documents in one source are read', async () => {
  const documents = Array.from({ length: 3_000 }, (_, index) => VALID.replace('acme-001', `acme-${index}`));
  expect(await messagesOf(documents.join('---\n'))).toEqual([]);
});

const lists = [...'bcdefghij'].map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[at]}`)}]`);
const maps = Array.from({ length: 12 }, (_, at) => `b${at + 1}: &b${at + 1} {<<: [${Array(9).fill(`*b${at}`)}]}`);

test.each([
  ['lists of aliases', ['a: &a [x, x, x, x, x, x, x, x, x]', ...lists].join('\n')],
  ['merge keys', ['b0: &b0 {x: 1}', ...maps].join('\n')],
])('%s that multiply are refused, and the next source is read', async (_, bomb) => {
  expect(await messagesOf(`${VALID}---\n${bomb}\n`, WRONG)).toEqual([
    expect.stringMatching(/^a\.yaml:8:1 invalid YAML: .*alias/),
    'b.yaml:7:1 unknown key "color"',
  ]);
});
