import { describe, expect, test } from 'vitest';
import { changed, problemLines, read, readAll, VALID } from '../manifests.ts';

const withId = (id: string) => VALID.replace('acme-001', id);

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

  test('a source without a document is a problem', () => {
    for (const text of ['', '---\n---\n# c\n...\n', '\uFEFF']) {
      expect(problemLines(readAll([VALID, text]))).toEqual(['b.yaml:1:1 this source contains no document']);
    }
  });

  test('a byte order mark and CRLF change no position', () => {
    const reading = read(`\uFEFF${VALID.replace('Support', '5')}`.replaceAll('\n', '\r\n'));
    expect(problemLines(reading)).toEqual(['a.yaml:6:11 "agents[0].name" must be text, not 5']);
    expect(reading.problems[0]?.excerpt).toBe('   6 |     name: 5\n     |           ^');
  });
});

describe('syntax errors', () => {
  test('are named with their place', () => {
    for (const [text, message] of [
      ['a: {b: [c, {d: e}\nf: g\n', '1:8 this bracket is not closed'],
      ['space: {name: ${NAME}}\n', '1:15 a value with "${" needs quotes inside { } or [ ]'],
      ['name: foo: bar\n', '1:7 invalid YAML: Nested mappings are not allowed in compact mappings'],
      ['a: "\\q"\nb: [\n', '1:5 invalid YAML: Invalid escape sequence \\q'],
      ['schedule: */5 9 * * *\n', '1:11 a value that starts with "*" needs quotes'],
    ] as const) {
      expect(problemLines(read(text))).toEqual([`a.yaml:${message}`]);
    }
  });

  test('have a hint; only the first of a document is reported, and the other documents are checked', () => {
    const reading = read(`a:\n\tb: c\n\td: e\n---\n${VALID}---\n${VALID.replace('acme-001', '5')}`);
    expect(problemLines(reading)).toEqual([
      'a.yaml:2:1 invalid YAML: Tabs are not allowed as indentation',
      'a.yaml:12:20 "external_space_id" must be text, not 5',
    ]);
    expect(reading.problems[0]?.hint).toBe('indent with spaces');
    expect(reading.documents.map(({ source }) => source)).toEqual(['a.yaml:5']);
  });
});

describe('anchors, aliases, and merge keys', () => {
  test('are resolved; own keys and earlier mappings win', () => {
    const text = `external_space_id: &id acme
space: { name: *id }
agents:
  - &first { template_id: one, name: One, auto_create_api_chat: true }
  - <<: *first
    name: Two
  - <<: [{ name: Three }, *first]
`;
    const { documents, problems } = read(text);
    expect(problems).toEqual([]);
    const agents = ['One', 'Two', 'Three'].map((name) => ({ template_id: 'one', name, auto_create_api_chat: true }));
    expect(documents[0]?.manifest).toEqual({ external_space_id: 'acme', space: { name: 'acme' }, agents });
  });

  test('a mistake in a shared value is reported once, where it is written', () => {
    const text = changed('- template_id', '- &a\n    extra: 1\n    template_id').concat('  - <<: *a\n    name: Two\n');
    expect(problemLines(read(text))).toEqual(['a.yaml:6:5 unknown key "extra"']);
  });

  test.each([
    [changed('Acme', '&n Acme\n  is_org_wide: *n'), '4:16 "space.is_org_wide" must be true or false, not "Acme"'],
    [`${VALID}  - <<: 5\n`, '1:1 "<<" takes a mapping, or a list of mappings'],
  ])('a mistake in one is named: %j', (text, message) => {
    expect(problemLines(read(text))[0]).toBe(`a.yaml:${message}`);
  });
});
