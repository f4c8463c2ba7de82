import { describe, expect, test } from 'vitest';
import { split } from '../../../src/yaml/split.ts';
import { read, readAll, said, VALID } from './reading.ts';

const places = (texts: readonly string[]) => readAll(texts).documents.map(({ source, index }) => `${index} ${source}`);

function withId(id: string): string {
  return VALID.replace('acme-001', id);
}

describe('documents', () => {
  test('every field', () => {
    const text = `external_space_id: acme-001
space: { name: Acme, description: Support for Acme, is_org_wide: false }
agents:
  - template_id: tmpl_support
    name: Support
    auto_create_api_chat: true
    api_chat_routing_mode: session_workflow
`;
    expect(read(text)).toEqual({
      problems: [],
      documents: [
        {
          source: 'a.yaml:1',
          index: 0,
          manifest: {
            external_space_id: 'acme-001',
            space: { name: 'Acme', description: 'Support for Acme', is_org_wide: false },
            agents: [
              {
                template_id: 'tmpl_support',
                name: 'Support',
                auto_create_api_chat: true,
                api_chat_routing_mode: 'session_workflow',
              },
            ],
          },
        },
      ],
    });
  });

  test('several in a file, several files; empty ones are left out', () => {
    const first = `# nothing\n---\n\n---\n# one\n${withId('a')}...\n# between\n---\n---\n${withId('b')}---\n`;
    expect(places([first, `--- # c\n${withId('c')}`])).toEqual(['0 a.yaml:6', '1 a.yaml:16', '2 b.yaml:2']);
  });

  test.each([
    '',
    '\n',
    '# only a comment',
    '---\n',
    '---\n---\n# c\n...\n',
    '\uFEFF',
    ' \t\r\n',
    '\n\uFEFF',
    '---\n...\n\uFEFF# c\n',
  ])('a source without a document: %j', (text) => {
    expect(said(readAll([VALID, text]))).toEqual(['b.yaml:1:1 this source holds no document']);
  });

  test('a byte order mark and CRLF change no position', () => {
    const text = `\uFEFF${VALID.replace('Support', '5')}`.replaceAll('\n', '\r\n');
    const reading = read(text);
    expect(said(reading)).toEqual(['a.yaml:6:11 "agents[0].name" must be text, not the number 5']);
    expect(reading.problems[0]?.excerpt).toBe('   6 |     name: 5\n     |           ^');
    expect(read(`\uFEFF${VALID}`.replaceAll('\n', '\r\n')).documents).toEqual(read(VALID).documents);
  });

  test('directives, markers with content, and no line end at the end', () => {
    expect(places([`%YAML 1.2\n---\n${withId('a')}...\n%YAML 1.2\n---\n${withId('b')}`.trimEnd()])).toHaveLength(2);
    expect(places(['--- {external_space_id: a, space: {name: A}, agents: [{template_id: t, name: n}]}'])).toEqual([
      '0 a.yaml:1',
    ]);
  });

  test('YAML 1.1 does not change what the words mean', () => {
    const text = VALID.replace('Acme', 'yes');
    expect(read(`%YAML 1.1\n---\n${text}`).documents[0]?.manifest.space.name).toBe('yes');
  });

  test('one mistake in one of 200 documents leaves the places of all others alone', () => {
    const texts = Array.from({ length: 200 }, (_, index) => withId(`space-${index}`));
    texts[117] = '"\n[\n{\n';
    texts[150] = withId('7');
    const reading = read(texts.join('---\n'));
    expect(said(reading)).toEqual([
      `a.yaml:${117 * 7 + 1}:1 this quote is not closed`,
      `a.yaml:${150 * 7 - 3 + 1}:20 "external_space_id" must be text, not the number 7`,
    ]);
    expect(reading.documents).toHaveLength(198);
    expect(reading.documents.at(-1)?.source).toBe(`a.yaml:${199 * 7 - 3 + 1}`);
  });

  test('problems come in the order of sources, lines and columns', () => {
    const bad = 'agents: 5\nspace: 5\nexternal_space_id: 5\n';
    const order = readAll([bad, bad]).problems.map(({ source, line, column }) => `${source}:${line}:${column}`);
    expect(order).toEqual(['a.yaml:1:9', 'a.yaml:2:8', 'a.yaml:3:20', 'b.yaml:1:9', 'b.yaml:2:8', 'b.yaml:3:20']);
  });
});

describe('split', () => {
  const cut = (text: string) => [...split(text)].map(({ start, end }) => text.slice(start, end));

  test('only a line of its own, at its beginning, parts documents', () => {
    expect(cut('a: |\n  ---\n ---\n---b\n')).toHaveLength(1);
    expect(cut('a\n---\tb\n--- c')).toEqual(['a\n', '---\tb\n', '--- c']);
    expect(cut('"a\n---\nb"')).toEqual(['"a\n', '---\nb"']);
  });

  test('directives belong to the document after them', () => {
    expect(cut('%YAML 1.2\n# c\n---\na\n...\n%YAML 1.2\n---\nb\n')).toEqual([
      '%YAML 1.2\n# c\n---\na\n...\n',
      '%YAML 1.2\n---\nb\n',
    ]);
  });
});
