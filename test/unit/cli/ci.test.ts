import { marked } from 'marked';
import { describe, expect, test } from 'vitest';
import { escapeWorkflowCommands, formatAnnotation } from '../../../src/cli/ci/annotations.ts';
import { formatSummary } from '../../../src/cli/ci/report.ts';
import { UsageError } from '../../../src/errors.ts';
import { stringifyJson } from '../../../src/output/json.ts';
import { stringifyYaml } from '../../../src/output/yaml.ts';

/** The lines that the runner of GitHub Actions reads as commands (ActionCommand.cs), whatever their names. */
function commandsIn(text: string): string[] {
  return text.split(/\r\n|\r|\n/).filter((line) => /^\s*::.*::/.test(line) || /##\[.*\]/.test(line));
}

describe('text that the runner of GitHub Actions would read as a command', () => {
  test.each([
    '  \t::set-output name=x::y',
    'a\n::stop-commands::x',
    'a\r::group::x',
    '\ufeff::debug::x',
    '###[error]b',
    ':::e::x',
  ])('is escaped, and exact in JSON and YAML: %j', (text) => {
    expect(commandsIn(text)).toHaveLength(1);
    expect(commandsIn(escapeWorkflowCommands(text))).toEqual([]);
    const value = { [text]: [text, `${'long '.repeat(30)}${text}\n${text}`] };
    expect(commandsIn(stringifyJson(value, 2))).toEqual([]);
    expect(JSON.parse(stringifyJson(value))).toEqual(value);
    expect(commandsIn(escapeWorkflowCommands(stringifyYaml(value)))).toEqual([]);
  });

  test('stays readable, and other text is unchanged', () => {
    expect(escapeWorkflowCommands('::add-mask::a\nx ##[error]b')).toBe('\\x3a:add-mask::a\nx \\x23#[error]b');
    const harmless = 'std::vector a ## b [x]\n# Title\n## Title\n12:30 ::1\n';
    expect(escapeWorkflowCommands(harmless)).toBe(harmless);
  });
});

test('annotations escape what would end a property or a line', () => {
  const finding = { file: 'a,b:c%.yaml', line: 3, column: 7, message: '100% wrong\n::error::injected' };
  expect(formatAnnotation(finding, 'a plan')).toBe(
    '::error file=a%2Cb%3Ac%25.yaml,line=3,col=7,title=a plan::100%25 wrong%0A::error::injected\n',
  );
});

test('a summary folds what has lines, leaves out what has none, and is cut off after a whole item', async () => {
  const line = { indent: 4, marker: '+', text: 'x'.repeat(1_000) };
  const items = Array.from({ length: 100 }, (_, index) => ({
    ...{ name: `customer-${index}`, source: 'all.yaml:1', status: 'create', failures: [] },
    lines: () => (index === 1 ? [] : [line]),
  }));
  const totals = [{ indent: 0, text: 'Plan: 99 spaces to create.' }];
  const text = await formatSummary('partnerctl plan', totals, items, (each) => each);
  const folded = [...text.matchAll(/<details><summary><code>customer-(\d+) /g)].map(([, index]) => Number(index));
  expect(text).toMatch(/^### partnerctl plan\n\n {4}Plan: 99 spaces to create\.\n\n<details>/);
  expect(folded).toEqual(items.flatMap((_, index) => (index !== 1 && index < folded.length + 1 ? [index] : [])));
  expect(folded.length).toBeGreaterThan(50);
  expect(text).toMatch(new RegExp(`</details>\n\n… and ${99 - folded.length} more\n\n$`));
  expect(text.length).toBeLessThan(65_536);
});

test('a summary shows external text literally, as neither Markdown nor HTML, and redacted', async () => {
  const outside = '<img src=x>|`a`\n\n# Title\n</pre></details> @all [x](https://evil.example) ::error::\u202e &amp;';
  const lines = [0, 4].map((indent) => ({ indent, text: outside }));
  const item = { name: outside, source: outside, status: outside, error: new UsageError(outside) };
  const summary = await formatSummary('partnerctl plan', lines, [item, { ...item, lines: () => lines }], (text) =>
    text.replaceAll('evil', '[redacted]'),
  );
  const html = marked.parse(summary, { async: false });
  const tags = new Set([...html.matchAll(/<\/?([a-z0-9]+)/g)].map(([, tag]) => tag));
  expect([...tags].sort()).toEqual(['code', 'details', 'h3', 'pre', 'summary']);
  expect(html.match(/<details>/g)).toHaveLength(1);
  expect(html).toContain('&lt;img src=x&gt;|`a`\\n\\n# Title');
  expect(html).not.toContain('evil');
});
