import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cpuMsOf } from '../support/cpu.ts';
import { run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';

const LIMITS = { sourceLength: 4 * 1024 * 1024, documents: 10_000, depth: 32, problems: 1_000 };

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

describe('limits', () => {
  test('a source that is too long is not read, but the others are', async () => {
    expect(await messagesOf(`${VALID}#${'x'.repeat(LIMITS.sourceLength)}`, WRONG)).toEqual([
      'a.yaml:1:1 longer than 4,194,304 characters',
      'b.yaml:7:1 unknown key "color"',
    ]);
  });

  test('the 10,000th document is read, and the next one is rejected', async () => {
    const preceded = (count: number) => '---\n'.repeat(count) + VALID;
    expect(await messagesOf(preceded(LIMITS.documents))).toEqual([]);
    expect(await messagesOf(preceded(LIMITS.documents + 1))).toEqual([
      'a.yaml:10001:1 more than 10,000 documents in one source',
    ]);
  });

  test('values nested 32 levels deep are read, and deeper ones are rejected', async () => {
    const nested = (depth: number) => `${VALID}x: ${'['.repeat(depth)}${']'.repeat(depth)}\n`;
    expect(await messagesOf(nested(LIMITS.depth - 1))).toEqual(['a.yaml:7:1 unknown key "x"']);
    expect((await messagesOf(nested(LIMITS.depth + 1))).at(-1)).toMatch(/^a\.yaml:7:\d+ nested deeper than 32 levels$/);
  });

  test('the depth of a value counts where an alias uses it', async () => {
    const half = `x: &x ${'['.repeat(20)}${']'.repeat(20)}\ny: `;
    const within = (depth: number) => messagesOf(`${VALID}${half}${'['.repeat(depth)}*x${']'.repeat(depth)}\n`);
    expect((await within(12)).filter((message) => message.includes('nested'))).toEqual([]);
    expect((await within(13)).filter((message) => message.includes('nested'))).toHaveLength(1);
  });

  test.each([
    ['[', '['.repeat(1e6)],
    ['{a: ', '{a: '.repeat(2.5e5)],
    ['- ', '- '.repeat(5e5)],
    ['? ', '? '.repeat(5e5)],
    ['a:\\n', Array.from({ length: 1000 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join('')],
  ])('a megabyte of %j is rejected', async (_, text) => {
    expect(await messagesOf(text)).toEqual([expect.stringContaining('nested deeper than 32 levels')]);
  });

  const lists = [...'bcdefghij'].map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[at]}`)}]`);
  const maps = Array.from({ length: 12 }, (_, at) => `b${at + 1}: &b${at + 1} {<<: [${Array(9).fill(`*b${at}`)}]}`);

  test.each([
    ['lists of aliases', ['a: &a [x, x, x, x, x, x, x, x, x]', ...lists].join('\n')],
    ['merge keys', ['b0: &b0 {x: 1}', ...maps].join('\n')],
    ['one alias many times', `a: &a [${Array(1000).fill('x')}]\nb: [${Array(1000).fill('*a')}]`],
  ])('%s that multiply are rejected, and the next source is read', async (_, bomb) => {
    expect(await messagesOf(`${VALID}---\n${bomb}\n`, WRONG)).toEqual([
      expect.stringContaining('more than 1,000,000 values in one source'),
      'b.yaml:7:1 unknown key "color"',
    ]);
  });

  test.each([
    ['commas', `[${','.repeat(4e6)}`],
    ['items', `[${'x,'.repeat(2e6)}]`],
    ['invalid escapes', `a: "${'\\q'.repeat(2e6)}"`],
  ])('a document of too many %s is rejected', async (_, text) => {
    expect(await messagesOf(text)).toEqual([expect.stringContaining('more than 250,000 YAML tokens in one document')]);
  });

  test('no more problems are reported than a person can read', async () => {
    expect(await messagesOf(`${VALID}${'x: &a *b\n---\n'.repeat(2000)}`, VALID)).toHaveLength(LIMITS.problems);
    expect(await messagesOf('a: 5\n'.repeat(3000))).toHaveLength(LIMITS.problems);
  });

  test.each([
    ['letters in a line', `x: ${'y'.repeat(4e6)}`],
    ['variables', `x: "${'${A} '.repeat(1e5)}"`],
    ['unclosed variables', `x: "${'${'.repeat(2.5e5)}"`],
    ['dollar signs', `x: ${'$'.repeat(2e6)}{A}`],
    ['spaces in an id', `external_space_id: "${' '.repeat(4e6)}"`],
    ['words in an id', `external_space_id: "${'a '.repeat(1e6)}"`],
    ['blank lines', `x:${'\n'.repeat(1e5)} y`],
    ['document markers', '---\n'.repeat(5e5)],
    ['syntax errors', '- @\n'.repeat(5e4)],
    ['keys', Array.from({ length: 5_000 }, (_, index) => `k${index}: v`).join('\n')],
    ['anchors and aliases', Array.from({ length: 10_000 }, (_, index) => `- &a${index} x\n- *a${index}`).join('\n')],
  ])('many %s take a second or two at most', async (_, text) => {
    expect(await cpuMsOf(async () => expect(await messagesOf(text)).not.toEqual([]))).toBeLessThan(3000);
  });
});
