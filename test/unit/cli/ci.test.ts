import { marked } from 'marked';
import { describe, expect, test } from 'vitest';
import { formatAnnotations } from '../../../src/cli/ci/annotations.ts';
import { formatSummary } from '../../../src/cli/ci/summary.ts';
import { escapeWorkflowCommands } from '../../../src/cli/ci/workflow-commands.ts';
import type { Finding, SummarySection } from '../../../src/output/command-result.ts';
import { stringifyJson } from '../../../src/output/formats/stringify-json.ts';
import { stringifyYaml } from '../../../src/output/formats/yaml.ts';

/** The lines that the runner of GitHub Actions reads as commands (ActionCommand.cs), whatever their names. */
function commandsIn(text: string): string[] {
  const visible = text.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '');
  return visible.split(/\r\n|\r|\n/).filter((line) => /^\s*::.*::/.test(line) || /##\[.*\]/.test(line));
}

const HOSTILE = [
  '::add-mask::a',
  '  \t::set-output name=x::y',
  'first line\n::stop-commands::token',
  'first line\r::group::x',
  '\ufeff::debug::x',
  '\u00ad:\u200b:error::x',
  'a ##[add-mask]b',
  '#\u00ad#[error]b',
  '###[error]b',
  ':::error::x',
];

describe('text that the runner of GitHub Actions would read as a command', () => {
  test.each(HOSTILE)('is escaped: %j', (text) => {
    expect(commandsIn(text)).toHaveLength(1);
    expect(commandsIn(escapeWorkflowCommands(text))).toEqual([]);
  });

  test('stays readable, and other text is unchanged', () => {
    expect(escapeWorkflowCommands('::add-mask::a\nx ##[error]b')).toBe('\\x3a:add-mask::a\nx \\x23#[error]b');
    const harmless = 'std::vector a ## b [x]\n# Title\n## Title\n12:30 ::1\n';
    expect(escapeWorkflowCommands(harmless)).toBe(harmless);
  });

  test.each(HOSTILE)('is not a command in JSON and YAML, which stay exact: %j', (text) => {
    const value = { [text]: [text, `${'long '.repeat(30)}${text}\n${text}`] };
    expect(commandsIn(stringifyJson(value, 2))).toEqual([]);
    expect(JSON.parse(stringifyJson(value))).toEqual(value);
    expect(commandsIn(stringifyYaml(value))).toEqual([]);
  });
});

const finding = (more: Partial<Finding> = {}): Finding => ({
  level: 'error',
  place: { file: 'a,b:c%.yaml', line: 3, column: 7 },
  type: 'invalid_input',
  message: '100% wrong\n::error::injected',
  ...more,
});

describe('annotations', () => {
  test('escape what would end a property or a line', () => {
    expect(formatAnnotations([finding()], { error: 1, warning: 0 }, 'partnerctl plan')).toBe(
      '::error file=a%2Cb%3Ac%25.yaml,line=3,col=7,title=partnerctl plan::100%25 wrong%0A::error::injected\n',
    );
  });

  test('are at most ten of a level, the last of which counts the rest', () => {
    const many = Array.from({ length: 12 }, (_, index) => finding({ message: `m${index}` }));
    const text = formatAnnotations(
      [...many, finding({ level: 'warning', message: 'w' })],
      { error: 40, warning: 1 },
      't',
    );
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(11);
    expect(lines[9]).toBe('::error title=t::31 more failures: see the log of this step.');
    expect(lines[10]).toMatch(/^::warning file=.*::w$/);
  });
});

const section = (more: Partial<SummarySection> = {}): SummarySection => ({
  name: 'acme',
  detail: 'acme.yaml:1, create',
  isFailure: false,
  lines: [{ indent: 4, marker: '+', text: 'create space "acme"' }],
  ...more,
});

const RUN = { title: 'partnerctl plan', counts: '2 spaces to create.', failure: undefined, wasInterrupted: false };
const asIs = (text: string) => text;

describe('a summary', () => {
  test('starts with counts, and shows failures before the rest', () => {
    const sections = [section(), section({ name: 'same', lines: [] }), section({ name: 'broken', isFailure: true })];
    const text = formatSummary({ ...RUN, sections }, 1_000_000, asIs);
    const order = ['### partnerctl plan', '2 spaces to create.', 'broken', 'acme', 'same'].map((part) =>
      text.indexOf(part),
    );
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(order).not.toContain(-1);
    expect(text.match(/<details>/g)).toHaveLength(3);
  });

  const OUTSIDE = '<img src=x>|`a`\n\n# Title\n</pre></details> @all [x](https://evil.example) ::error::\u202e &amp;';

  test('shows external text literally, as neither Markdown nor HTML', () => {
    const lines = [{ indent: 4, text: OUTSIDE }];
    const html = marked.parse(
      formatSummary(
        { ...RUN, counts: OUTSIDE, failure: OUTSIDE, sections: [section({ name: OUTSIDE, lines })] },
        1_000_000,
        asIs,
      ),
      { async: false },
    );
    const tags = new Set([...html.matchAll(/<\/?([a-z0-9]+)/g)].map(([, tag]) => tag));
    expect([...tags].sort()).toEqual(['code', 'details', 'h3', 'p', 'pre', 'summary']);
    expect(html).toContain('&lt;img src=x&gt;|`a`\\n\\n# Title');
    expect(html).toContain('&amp;amp;');
  });

  test('omits entire blocks if it would be too long, and says how many', () => {
    const sections = Array.from({ length: 500 }, (_, index) => section({ name: `space-${index} ${'é'.repeat(300)}` }));
    const text = formatSummary({ ...RUN, sections }, 100_000, asIs);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(100_000);
    expect(Buffer.byteLength(text)).toBeGreaterThan(90_000);
    const shown = text.match(/<details>/g)?.length ?? 0;
    expect(text.match(/<\/details>/g)).toHaveLength(shown);
    expect(text).toContain(`<p>${500 - shown} of 500 blocks are left out: the summary would be too long.</p>`);
    expect(formatSummary({ ...RUN, sections }, 100, asIs)).toBe('');
  });

  test('truncates long blocks, after it has redacted them', () => {
    const token = `pt_${'x'.repeat(40)}`;
    const lines = Array.from({ length: 5_000 }, () => ({ indent: 4, text: `${'y'.repeat(980)}${token}` }));
    const text = formatSummary({ ...RUN, sections: [section({ lines })] }, 1_000_000, (line) =>
      line.replaceAll(token, '[redacted]'),
    );
    expect(text).toContain('… and 4800 more lines');
    expect(text).not.toContain('pt_x');
  });
});
