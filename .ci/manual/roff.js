import { Lexer } from 'marked';

/** Markdown and plain text as input of man(7). */

/** Characters with a name that every formatter knows; others are written by their code point. */
const NAMED = { '\\': '\\e', "'": '\\(aq', '…': '...', '×': '\\(mu', '≤': '\\(<=', '≥': '\\(>=', '→': '\\(->', '—': '\\(em', '–': '\\(en' };

function escapeText(value) {
  const escaped = value.replace(/[\\'\u0080-\uffff]|[\ud800-\udbff][\udc00-\udfff]/g, (character) => {
    const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    return NAMED[character] ?? `\\[u${code}]`;
  });
  // The hyphens of flags stay hyphens when they are copied.
  return escaped.replace(/(?<!\w)-+(?=\w)/g, (hyphens) => hyphens.replaceAll('-', '\\-'));
}

/** A line that begins with a period would be a request. */
function protect(line) {
  return line.replace(/^\./, '\\&.');
}

/** Plain text as a paragraph. */
export function text(value) {
  return escapeText(value).split('\n').map(protect).join('\n');
}

/** What is typed: its hyphens stay hyphens when they are copied. */
function typed(value) {
  return escapeText(value).replaceAll(/(?<!\\)-/g, '\\-').replaceAll('`', '\\(ga').replaceAll('^', '\\(ha').replaceAll('~', '\\(ti');
}

export function bold(value) {
  return `\\fB${typed(value)}\\fR`;
}

/** A block of commands or output, as it is. */
export function example(code) {
  return ['.IP', '.EX', ...code.replace(/\n$/, '').split('\n').map((line) => protect(typed(line))), '.EE'].join('\n');
}

export function heading(title) {
  return `.SH ${title.toUpperCase()}`;
}

/** A term with its explanation, both as roff. */
export function definition(term, explanation) {
  return `.TP\n${protect(term)}\n${explanation}`;
}

/** `value` in title lines, where it is one word. */
export function quoted(value) {
  return `"${escapeText(value).replaceAll('"', '\\(dq')}"`;
}

function inline(tokens) {
  return tokens
    .map((token) => {
      if (token.type === 'codespan') return bold(token.text);
      if (token.type === 'link') return linkText(token);
      if (token.type === 'strong') return `\\fB${inline(token.tokens)}\\fR`;
      if (token.type === 'em') return `\\fI${inline(token.tokens)}\\fR`;
      return token.tokens ? inline(token.tokens) : escapeText(token.text);
    })
    .join('');
}

/** A link to another topic names its page; others show where they lead. */
function linkText({ href, tokens }) {
  const topic = /^([\w-]+)\.md(#.*)?$/.exec(href)?.[1];
  if (topic) return `${bold(`partnerctl-${topic}`)}(7)`;
  return `${inline(tokens)}${href.startsWith('https:') ? ` (${escapeText(href)})` : ''}`;
}

function paragraph(tokens) {
  return inline(tokens).split('\n').map(protect).join('\n');
}

/** The first paragraph of a list item follows its mark; what else it has is indented. */
function listItem({ tokens }, mark) {
  const [first, ...rest] = tokens;
  const head = `.IP ${mark} 4\n${paragraph(first?.tokens ?? [])}`;
  return rest.length === 0 ? head : `${head}\n.RS 4\n${blocks(rest)}\n.RE`;
}

/** A row with its first cell as the term: terminals are too narrow for wide tables. */
function tableRow(row, header) {
  const [term, ...cells] = row;
  const labels = header.slice(1).map((cell) => inline(cell.tokens));
  const parts = cells.map((cell, index) => (cells.length === 1 ? '' : `${labels[index]}: `) + inline(cell.tokens));
  return definition(inline(term.tokens), parts.map(protect).join('\n.br\n'));
}

const BLOCKS = {
  heading: ({ depth, tokens }) => `${depth <= 2 ? '.SH' : '.SS'} ${inline(tokens)}`,
  paragraph: ({ tokens }) => `.PP\n${paragraph(tokens)}`,
  text: ({ tokens }) => paragraph(tokens),
  code: ({ text: code }) => example(code),
  list: ({ ordered, items }) => items.map((item, index) => listItem(item, ordered ? `${index + 1}.` : '\\(bu')).join('\n'),
  table: ({ header, rows }) => rows.map((row) => tableRow(row, header)).join('\n'),
  space: () => '',
};

function blocks(tokens) {
  return tokens
    .map((token) => {
      const format = BLOCKS[token.type];
      if (!format) throw new Error(`The manual cannot show ${token.type}: ${token.raw}`);
      return format(token);
    })
    .filter((block) => block !== '')
    .join('\n');
}

/** @returns the title of a Markdown text, and what follows it as roff */
export function fromMarkdown(markdown) {
  const [title, ...rest] = new Lexer().lex(markdown);
  const content = rest.filter(({ type }) => type !== 'space');
  const startsWithText = content[0]?.type !== 'heading';
  return { title: title.text, body: `${startsWithText ? `${heading('Description')}\n` : ''}${blocks(content)}` };
}
