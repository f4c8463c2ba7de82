import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/yaml/source-text.ts';
import { cpuMsOf } from '../support/cpu.ts';
import { problemLines, read, readAll, VALID } from '../support/manifests.ts';

const messagesOf = (text: string) => problemLines(read(text));

describe('limits', () => {
  test('a source that is too long is not read, but the others are', () => {
    const reading = readAll([`${VALID}#${'x'.repeat(LIMITS.sourceLength)}`, VALID]);
    expect(problemLines(reading)).toEqual(['a.yaml:1:1 longer than 4,194,304 characters']);
    expect(reading.documents).toHaveLength(1);
  });

  test('the 10,000th document is read, and the next one is rejected', () => {
    const preceded = (count: number) => '---\n'.repeat(count) + VALID;
    expect(read(preceded(LIMITS.documents)).documents).toHaveLength(1);
    const reading = read(preceded(LIMITS.documents + 1));
    expect(problemLines(reading)).toEqual(['a.yaml:10001:1 more than 10,000 documents in one source']);
  });

  test('values nested 32 levels deep are read, and deeper ones are rejected', () => {
    const nested = (depth: number) => `${VALID}x: ${'['.repeat(depth)}${']'.repeat(depth)}\n`;
    expect(messagesOf(nested(LIMITS.depth - 1))).toEqual(['a.yaml:7:1 unknown key "x"']);
    expect(messagesOf(nested(LIMITS.depth + 1)).at(-1)).toMatch(/^a\.yaml:7:\d+ nested deeper than 32 levels$/);
  });

  test('the depth of a value counts where an alias uses it', () => {
    const half = `x: &x ${'['.repeat(20)}${']'.repeat(20)}\ny: `;
    const within = (depth: number) => messagesOf(`${VALID}${half}${'['.repeat(depth)}*x${']'.repeat(depth)}\n`);
    expect(within(12).filter((message) => message.includes('nested'))).toEqual([]);
    expect(within(13).filter((message) => message.includes('nested'))).toHaveLength(1);
  });

  test.each([
    ['[', '['.repeat(1e6)],
    ['{a: ', '{a: '.repeat(2.5e5)],
    ['- ', '- '.repeat(5e5)],
    ['? ', '? '.repeat(5e5)],
    ['a:\\n', Array.from({ length: 1000 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join('')],
  ])('a megabyte of %j is rejected', (_, text) => {
    expect(messagesOf(text)).toEqual([expect.stringContaining('nested deeper than 32 levels')]);
  });

  const lists = [...'bcdefghij'].map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[at]}`)}]`);
  const maps = Array.from({ length: 12 }, (_, at) => `b${at + 1}: &b${at + 1} {<<: [${Array(9).fill(`*b${at}`)}]}`);

  test.each([
    ['lists of aliases', ['a: &a [x, x, x, x, x, x, x, x, x]', ...lists].join('\n')],
    ['merge keys', ['b0: &b0 {x: 1}', ...maps].join('\n')],
    ['one alias many times', `a: &a [${Array(1000).fill('x')}]\nb: [${Array(1000).fill('*a')}]`],
  ])('%s that multiply are rejected, and the next source is read', (_, bomb) => {
    const reading = readAll([`${VALID}---\n${bomb}\n`, VALID.replace('acme', 'b')]);
    expect(problemLines(reading)).toEqual([expect.stringContaining('more than 1,000,000 values in one source')]);
    expect(reading.documents).toHaveLength(2);
  });

  test.each([
    ['commas', `[${','.repeat(4e6)}`],
    ['items', `[${'x,'.repeat(2e6)}]`],
    ['invalid escapes', `a: "${'\\q'.repeat(2e6)}"`],
  ])('a document of too many %s is rejected', (_, text) => {
    expect(messagesOf(text)).toEqual([expect.stringContaining('more than 250,000 YAML tokens in one document')]);
  });

  test('no more problems are reported than a person can read', () => {
    expect(readAll([`${VALID}${'x: &a *b\n---\n'.repeat(2000)}`, VALID]).problems).toHaveLength(LIMITS.problems);
    expect(read('a: 5\n'.repeat(3000)).problems).toHaveLength(LIMITS.problems);
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
    expect(await cpuMsOf(() => expect(read(text).problems.length).toBeGreaterThan(0))).toBeLessThan(3000);
  });
});
