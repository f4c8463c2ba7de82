import { describe, expect, test } from 'vitest';
import { ProblemList } from '../../../src/yaml/problem.ts';
import { changed, problemLines, read, readAll, VALID } from '../manifests.ts';

const withId = (id: string) => VALID.replace('acme-001', id);

describe('The documents of a source', () => {
  test('are read in order from several documents and files, without the empty ones.', () => {
    const first = `# nothing\n---\n\n---\n# one\n${withId('a')}...\n# between\n---\n---\n${withId('b')}---\n`;
    const { documents } = readAll([first, `--- # c\n${withId('c')}`]);
    expect(documents.map(({ source, index }) => `${index} ${source}`)).toEqual([
      '0 a.yaml:6',
      '1 a.yaml:16',
      '2 b.yaml:2',
    ]);
    for (const text of ['', '---\n---\n# c\n...\n', '\uFEFF'])
      expect(problemLines(readAll([VALID, text]))).toEqual(['b.yaml:1:1 this source contains no document']);
  });

  test('have the same positions with a byte order mark and CRLF.', () => {
    const reading = read(`\uFEFF${VALID.replace('Support', '5')}`.replaceAll('\n', '\r\n'));
    expect(problemLines(reading)).toEqual(['a.yaml:6:11 "agents[0].name" must be text, not 5']);
    expect(reading.problems[0]?.excerpt).toBe('   6 |     name: 5\n     |           ^');
  });
});

test('A tab in the indentation is named, whatever else it breaks', () => {
  for (const [text, place] of [
    ['a: 1\n\tb: 2\n', '2:1'],
    ['- a: 1\n\tb: 2\n', '2:1'],
    ['a:\n  - b: 1\n  \tc: 2\n', '3:3'],
    ['a: |\n\ttext\n', '2:1'],
    ['a: {\n\tb: 1 }\n', '2:1'],
  ]) {
    const reading = read(text ?? '');
    expect(problemLines(reading)).toEqual([`a.yaml:${place} invalid YAML: Tabs are not allowed as indentation`]);
    expect(reading.problems[0]?.hint).toBe('use spaces');
  }
  const [problem] = read('a: "\tx"\tb: 2\n').problems;
  expect(problem?.hint).toContain('check the indentation');
});

test('A key that is there twice is named, and what to do', () => {
  const { problems } = read('a: 1\nb: { c: 1, c: 2 }\n');
  expect(problems).toMatchObject([{ line: 2, column: 12, hint: 'remove one of the two' }]);
});

describe('Anchors, aliases, and merge keys', () => {
  test('are resolved; own keys and earlier mappings win.', () => {
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

  test.each([
    [changed('Acme', '&n Acme\n  is_org_wide: *n'), '4:16 "space.is_org_wide" must be true or false, not "Acme"'],
    [`${VALID}  - <<: 5\n`, '1:1 invalid YAML: Merge sources must be maps or map aliases'],
    [`${VALID}  - <<: { color: red }\n`, '7:5 unknown key "color"'],
  ])('have their mistakes named: %j.', (text, message) => {
    expect(problemLines(read(text))[0]).toBe(`a.yaml:${message}`);
  });

  test('never show what a variable holds.', () => {
    const text = changed('Acme', '&n ${SECRET}\n  is_org_wide: *n').concat(
      '  - <<: { name: *n, template_id: *n, cron: *n }\n',
    );
    const reading = read(text, { SECRET: 'hunter2' });
    expect(reading.problems).toHaveLength(2);
    expect(JSON.stringify(reading)).not.toContain('hunter2');
  });
});

function shownAt(text: string, offset: number, length: number): string[] {
  const source = new ProblemList({ name: 'a.yaml', text });
  source.add([offset, offset + length], 'wrong');
  return source.sorted()[0]?.excerpt.split('\n') ?? [];
}

describe('An excerpt', () => {
  test('shows the line and carets under the range, or one caret for an empty one.', () => {
    expect(shownAt('one\ntwo three\n', 8, 5)).toEqual(['   2 | two three', '     |     ^^^^^']);
    expect(shownAt('ab\n', 3, 9)).toEqual(['   2 | ', '     | ^']);
    expect(shownAt('a: "b\r\n  c"\r\n', 3, 9)).toEqual(['   1 | a: "b', '     |    ^^']);
  });

  test('shows unprintable characters as dots and tabs as spaces.', () => {
    expect(shownAt('\u001b[2J\t\u202e\u0000\ud800\u200bx', 9, 1)).toEqual(['   1 | ·[2J ····x', '     |          ^']);
  });

  test('clips a long line around the caret.', () => {
    const [line = '', carets = ''] = shownAt(`${'a'.repeat(3_000_000)}X${'b'.repeat(1_000_000)}`, 3_000_000, 500_000);
    expect(line).toMatch(/^ {3}1 \| …a{40}Xb{28}…$/);
    // An error indents it by two of the 80 columns.
    expect(line).toHaveLength(78);
    expect(carets).toMatch(/^ {5}\| {42}\^{29}$/);
  });
});
