import type { Token, Tokens } from 'marked';
import { cleanText } from './sanitize.ts';

/** What Markdown may look like in a terminal; each takes and gives plain lines. */
export interface MarkdownStyle {
  readonly bold: (text: string) => string;
  readonly italic: (text: string) => string;
  readonly code: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly heading: (text: string) => string;
}

const PLAIN: MarkdownStyle = {
  bold: (text) => text,
  italic: (text) => text,
  code: (text) => text,
  dim: (text) => text,
  heading: (text) => text,
};

const INDENT = '  ';

function indented(text: string, first: string, rest: string): string {
  return text
    .split('\n')
    .map((line, index) => (index === 0 ? first : rest) + line)
    .join('\n');
}

function inline(tokens: readonly Token[] | undefined, style: MarkdownStyle): string {
  return (tokens ?? []).map((token) => inlineOne(token, style)).join('');
}

function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

/** A link shows its address: what it says and where it leads may differ. */
function link({ href, tokens }: Tokens.Link, style: MarkdownStyle): string {
  const text = inline(tokens, style);
  return text === href ? href : `${text} ${style.dim(`(${href})`)}`;
}

function inlineOne(token: Token, style: MarkdownStyle): string {
  switch (token.type) {
    case 'strong':
      return style.bold(inline(token.tokens, style));
    case 'em':
      return style.italic(inline(token.tokens, style));
    case 'codespan':
      return style.code(unescaped(token.text));
    case 'link':
      return link(token as Tokens.Link, style);
    case 'br':
      return '\n';
    case 'del':
      return inline(token.tokens, style);
    default:
      if ('tokens' in token && token.tokens) return inline(token.tokens, style);
      return unescaped('text' in token && typeof token.text === 'string' ? token.text : token.raw);
  }
}

function listItem(item: Tokens.ListItem, mark: string, style: MarkdownStyle): string {
  const box = item.task ? (item.checked ? '[x] ' : '[ ] ') : '';
  const rest = item.tokens.filter(({ type }) => type !== 'checkbox');
  const body = rest.map((token) => block(token, style)).filter((text) => text !== '');
  return indented(box + body.join('\n'), mark, ' '.repeat(mark.length));
}

function listBlock(token: Tokens.List, style: MarkdownStyle): string {
  const start = Number(token.start) || 1;
  return token.items
    .map((item, index) => listItem(item, token.ordered ? `${start + index}. ` : '• ', style))
    .join('\n');
}

function tableBlock(token: Tokens.Table, style: MarkdownStyle): string {
  const row = (cells: readonly Tokens.TableCell[]): string =>
    cells.map((cell) => inline(cell.tokens, style)).join('  ');
  return [style.bold(row(token.header)), ...token.rows.map(row)].join('\n');
}

function block(token: Token, style: MarkdownStyle): string {
  switch (token.type) {
    case 'space':
      return '';
    case 'heading':
      return style.heading(inline(token.tokens, style));
    case 'code':
      return indented(style.code(token.text), INDENT, INDENT);
    case 'blockquote':
      return indented(blocks(token.tokens ?? [], style), style.dim('│ '), style.dim('│ '));
    case 'list':
      return listBlock(token as Tokens.List, style);
    case 'table':
      return tableBlock(token as Tokens.Table, style);
    case 'hr':
      return style.dim('────');
    default:
      return inlineOne(token, style);
  }
}

function blocks(tokens: readonly Token[], style: MarkdownStyle): string {
  const texts = tokens.map((token) => block(token, style)).filter((text) => text !== '');
  return texts.join('\n\n');
}

/** Longer texts are shown as they stand: reading them as Markdown may take very long. */
const LONGEST = 50_000;

/**
 * Markdown as a person reads it in a terminal: emphasis, code, lists, quotes, links with their address.
 * The text is cleaned of terminal controls first, so nothing that it holds reaches the terminal but what `style` adds.
 */
export async function markdownText(text: string, style: MarkdownStyle = PLAIN): Promise<string> {
  const clean = cleanText(text);
  if (clean.length > LONGEST) return clean;
  const { Lexer } = await import('marked');
  return blocks(new Lexer({ gfm: true, breaks: true }).lex(clean), style);
}
