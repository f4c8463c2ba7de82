import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/provision/manifest.ts';
import { cpuMsOf } from '../../helpers/cpu.ts';
import { read, readAll, said, VALID } from './reading.ts';

const messages = (text: string) => said(read(text));

describe('limits', () => {
  test('a source that is too long is not read; the others are', () => {
    const reading = readAll([`${VALID}#${'x'.repeat(LIMITS.sourceLength)}`, VALID]);
    expect(said(reading)).toEqual(['a.yaml:1:1 this source is longer than 4,194,304 characters']);
    expect(reading.documents).toHaveLength(1);
  });

  test('10,000 documents are read, and one more is refused', () => {
    const texts = Array.from({ length: LIMITS.documents + 1 }, (_, index) => VALID.replace('acme-001', `a${index}`));
    const reading = read(texts.join('---\n'));
    expect(said(reading)).toEqual(['a.yaml:70000:1 this run holds more than 10,000 documents']);
    expect(reading.documents).toHaveLength(LIMITS.documents);
  });

  test('what is nested at the limit is read, and one deeper is refused', () => {
    const nested = (depth: number) => `${VALID}x: ${'['.repeat(depth)}${']'.repeat(depth)}\n`;
    expect(messages(nested(LIMITS.depth - 1))).toEqual(['a.yaml:7:1 unknown key "x"']);
    expect(messages(nested(LIMITS.depth + 1)).at(-1)).toMatch(/^a\.yaml:7:\d+ nested deeper than 32 levels$/);
  });

  test('aliases nest, too', () => {
    const half = `x: &x ${'['.repeat(20)}${']'.repeat(20)}\ny: `;
    const within = (depth: number) => messages(`${VALID}${half}${'['.repeat(depth)}*x${']'.repeat(depth)}\n`);
    expect(within(12).filter((message) => message.includes('nested'))).toEqual([]);
    expect(within(13).filter((message) => message.includes('nested'))).toHaveLength(1);
  });

  test.each([
    ['[', '['.repeat(1e6)],
    ['{', '{'.repeat(1e6)],
    ['{a: ', '{a: '.repeat(2.5e5)],
    ['- ', '- '.repeat(5e5)],
    ['? ', '? '.repeat(5e5)],
    ['a:\\n', Array.from({ length: 1000 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join('')],
  ])('a megabyte of %j is refused', (_, text) => {
    expect(messages(text)).toEqual([expect.stringContaining('nested deeper than 32 levels')]);
  });

  test('aliases that multiply are refused, in each document anew', () => {
    const lists = [...'bcdefghij'].map(
      (name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[at]}`).join(', ')}]`,
    );
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]', ...lists].join('\n');
    const reading = read(`${bomb}\n---\n${VALID}---\n${bomb}\n`);
    expect(said(reading).filter((message) => message.includes('values'))).toEqual([
      'a.yaml:1:1 this document holds more than 100,000 values, counting what aliases stand for',
      'a.yaml:19:1 this document holds more than 100,000 values, counting what aliases stand for',
    ]);
    expect(reading.documents).toHaveLength(1);
  });

  test('so are they over a whole run', () => {
    const bomb = `a: &a [${Array(300).fill('x').join()}]\nb: [${Array(300).fill('*a').join()}]\n---\n`;
    expect(messages(bomb.repeat(20)).at(-1)).toBe(
      'a.yaml:34:1 this run holds more than 1,000,000 values, counting what aliases stand for',
    );
  });

  test('merge keys that multiply are refused', () => {
    const maps = Array.from(
      { length: 12 },
      (_, at) => `b${at + 1}: &b${at + 1} {<<: [${Array(9).fill(`*b${at}`).join()}]}`,
    );
    expect(messages(['b0: &b0 {x: 1}', ...maps].join('\n'))[0]).toContain('more than 100,000 values');
  });

  test('more tokens than a document or a source may hold', () => {
    expect(messages(`[${','.repeat(4e6)}`)).toEqual([
      expect.stringContaining('this document holds more than 250,000 YAML tokens'),
    ]);
    expect(messages(`- ${'[x,'.repeat(30)}${'y,'.repeat(100_000)}\n---\n`.repeat(10)).at(-1)).toContain(
      'this source holds more than 1,000,000 YAML tokens',
    );
  });

  test('a source of bad escapes ends at the limit', () => {
    expect(messages(`a: "${'\\q'.repeat(2e6)}"`)).toEqual([
      'a.yaml:1:4 more than 100 unknown escapes in double quotes',
    ]);
    expect(messages(`${VALID}x: "${'\\\\q\\x41\\"\\/'.repeat(200)}"`)).toEqual(['a.yaml:7:1 unknown key "x"']);
  });

  test('no more problems than a person can read', () => {
    const { problems } = readAll([`${VALID}${'x: &a *b\n---\n'.repeat(2000)}`, VALID]);
    expect(problems).toHaveLength(LIMITS.problems + 1);
    expect(problems.at(-1)?.message).toBe('there are more than 1,000 problems; from here on they are not shown');
    expect(read('a: 5\n'.repeat(3000)).problems).toHaveLength(LIMITS.problems + 1);
  });

  test.each([
    ['letters in a line', `x: ${'y'.repeat(4e6)}`],
    ['variables', `x: "${'${A} '.repeat(2e5)}"`],
    ['unclosed variables', `x: "${'${'.repeat(5e5)}"`],
    ['dollars', `x: ${'$'.repeat(4e6)}{A}`],
    ['white space in an id', `external_space_id: "${' '.repeat(4e6)}"`],
    ['words in an id', `external_space_id: "${'a '.repeat(2e6)}"`],
    ['blank lines', `x:${'\n'.repeat(2e5)} y`],
    ['markers', '---\n'.repeat(1e6)],
    ['keys', Array.from({ length: 10_000 }, (_, index) => `k${index}: v`).join('\n')],
    ['anchors and aliases', Array.from({ length: 20_000 }, (_, index) => `- &a${index} x\n- *a${index}`).join('\n')],
  ])('a great many of %s take seconds at most', async (_, text) => {
    expect(await cpuMsOf(() => expect(read(text).problems.length).toBeGreaterThan(0))).toBeLessThan(5000);
  });
});
