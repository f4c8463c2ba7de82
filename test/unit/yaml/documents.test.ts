import { describe, expect, test } from 'vitest';
import { problemLines, read, readAll, VALID } from '../manifests.ts';

const sourcesOf = (texts: readonly string[]) => readAll(texts).documents.map(({ source }) => source);

function withId(id: string): string {
  return VALID.replace('acme-001', id);
}

describe('documents of a source', () => {
  test('are read in order from several documents and files, without the empty ones', () => {
    const first = `# nothing\n---\n\n---\n# one\n${withId('a')}...\n# between\n---\n---\n${withId('b')}---\n`;
    const { documents } = readAll([first, `--- # c\n${withId('c')}`]);
    expect(documents.map(({ source, index }) => `${index} ${source}`)).toEqual([
      '0 a.yaml:6',
      '1 a.yaml:16',
      '2 b.yaml:2',
    ]);
  });

  test.each(['', '# only a comment', '---\n---\n# c\n...\n', '\uFEFF', ' \t\r\n', '---\n...\n\uFEFF# c\n'])(
    'a source without a document is a problem: %j',
    (text) => {
      expect(problemLines(readAll([VALID, text]))).toEqual(['b.yaml:1:1 this source contains no document']);
    },
  );

  test('a byte order mark and CRLF change no position', () => {
    const reading = read(`\uFEFF${VALID.replace('Support', '5')}`.replaceAll('\n', '\r\n'));
    expect(problemLines(reading)).toEqual(['a.yaml:6:11 "agents[0].name" must be text, not 5']);
    expect(reading.problems[0]?.excerpt).toBe('   6 |     name: 5\n     |           ^');
    expect(read(`\uFEFF${VALID}`.replaceAll('\n', '\r\n')).documents).toEqual(read(VALID).documents);
  });

  test('directives belong to the document after them, and content may follow the marker', () => {
    expect(sourcesOf([`%YAML 1.2\n---\n${withId('a')}...\n%YAML 1.2\n---\n${withId('b')}`.trimEnd()])).toHaveLength(2);
    const flow = '--- {external_space_id: a, space: {name: A}, agents: [{template_id: t, name: n}]}';
    expect(sourcesOf([flow])).toEqual(['a.yaml:1']);
  });

  test('mistakes in two of 200 documents do not affect the others and their positions', () => {
    const texts = Array.from({ length: 200 }, (_, index) => withId(`space-${index}`));
    texts[117] = '[\n"a",\n{\n';
    texts[150] = withId('7');
    const reading = read(texts.join('---\n'));
    expect(problemLines(reading)).toEqual([
      `a.yaml:${117 * 7 + 3}:1 this bracket is not closed`,
      `a.yaml:${150 * 7 - 3 + 1}:20 "external_space_id" must be text, not 7`,
    ]);
    expect(reading.documents).toHaveLength(198);
    expect(reading.documents.at(-1)?.source).toBe(`a.yaml:${199 * 7 - 3 + 1}`);
  });

  test('problems are ordered by source, line, and column', () => {
    const bad = 'agents: 5\nspace: 5\nexternal_space_id: 5\n';
    const order = readAll([bad, bad]).problems.map(({ source, line, column }) => `${source}:${line}:${column}`);
    expect(order).toEqual(['a.yaml:1:9', 'a.yaml:2:8', 'a.yaml:3:20', 'b.yaml:1:9', 'b.yaml:2:8', 'b.yaml:3:20']);
  });
});

describe('syntax errors', () => {
  test.each([
    ['name: "foo\nspace: {a: b}\n', '1:7 this quote is not closed'],
    ["a: b\nname: 'foo\nspace: c\n", '2:7 this quote is not closed'],
    ['a: [b, c\nd: e\n', '1:4 this bracket is not closed'],
    ['a: {b: [c, {d: e}\nf: g\n', '1:8 this bracket is not closed'],
    ['[a, b\n', '1:1 this bracket is not closed'],
    ['space: {name: ${NAME}}\n', '1:15 a value with "${" needs quotes inside { } or [ ]'],
    ["name: 'it's'\n", '1:11 invalid YAML: Unexpected scalar at node end'],
    ['name: foo: bar\n', '1:7 invalid YAML: Nested mappings are not allowed in compact mappings'],
    ['a: b\nc\n', '2:1 invalid YAML: Implicit map keys need to be followed by map values'],
    ['a:\n    b: c\n  d: e\n', '3:1 invalid YAML: All mapping items must start at the same column'],
    ['a:\n\tb: c\n', '2:1 invalid YAML: Tabs are not allowed as indentation'],
    ['a: @x\n', '1:4 invalid YAML: Plain value cannot start with reserved character @'],
    ['a: "\\q"\nb: [\n', '1:5 invalid YAML: Invalid escape sequence \\q'],
  ])('%j', (text, message) => {
    expect(problemLines(read(text))).toEqual([`a.yaml:${message}`]);
  });

  test('have a hint that says what to do', () => {
    expect(read('a:\n\tb: c\n').problems[0]?.hint).toBe('indent with spaces');
  });

  test('only the first error of a document is reported, and the other documents are checked', () => {
    const reading = read(`a: [\nb: "c"\n---\n${VALID}---\n${VALID.replace('acme-001', '5')}`);
    expect(problemLines(reading)).toEqual([
      'a.yaml:1:4 this bracket is not closed',
      'a.yaml:11:20 "external_space_id" must be text, not 5',
    ]);
    expect(reading.documents.map(({ source }) => source)).toEqual(['a.yaml:4']);
  });
});
