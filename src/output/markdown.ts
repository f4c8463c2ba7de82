import type { Token, Tokens } from 'marked';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { sanitizeText } from './sanitize.ts';

/** How Markdown elements look in a terminal. */
export interface MarkdownStyle {
  readonly bold: (text: string) => string;
  readonly italic: (text: string) => string;
  readonly code: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly heading: (text: string) => string;
  /** Whether wrapping keeps the line breaks of paragraphs; by default, paragraphs are refilled. */
  readonly keepsBreaks?: boolean;
}

/** No styling. */
export const UNSTYLED: MarkdownStyle = {
  bold: (text) => text,
  italic: (text) => text,
  code: (text) => text,
  dim: (text) => text,
  heading: (text) => text,
};

const INDENT = '  ';
/** The minimum width of a paragraph, even if it is deeply indented. */
const MIN_WIDTH = 20;

function indentLines(text: string, first: string, rest: string): string {
  return text
    .split('\n')
    .map((line, index) => (index === 0 ? first : rest) + line)
    .join('\n');
}

function inline(tokens: readonly Token[] | undefined, style: MarkdownStyle): string {
  return (tokens ?? []).map((token) => inlineOne(token, style)).join('');
}

function unescapeHtml(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

/** Always shows a link's URL, because the text can be misleading. */
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
      return style.code(unescapeHtml(token.text));
    case 'link':
      return link(token as Tokens.Link, style);
    case 'br':
      return '\n';
    case 'del':
      return inline(token.tokens, style);
    default:
      if ('tokens' in token && token.tokens) return inline(token.tokens, style);
      return unescapeHtml('text' in token && typeof token.text === 'string' ? token.text : token.raw);
  }
}

/** Wraps a paragraph at `width` columns. An infinite width keeps the original line breaks. */
function wrapParagraph(text: string, { keepsBreaks }: MarkdownStyle, width: number): string {
  if (width === Number.POSITIVE_INFINITY) return text;
  return wrapAnsi(keepsBreaks ? text : text.replaceAll('\n', ' '), Math.max(width, MIN_WIDTH));
}

function listItem(item: Tokens.ListItem, mark: string, style: MarkdownStyle, width: number): string {
  const box = item.task ? (item.checked ? '[x] ' : '[ ] ') : '';
  const rest = item.tokens.filter(({ type }) => type !== 'checkbox');
  const body = rest.map((token) => block(token, style, width - mark.length)).filter((text) => text !== '');
  return indentLines(box + body.join('\n'), mark, ' '.repeat(mark.length));
}

function listBlock(token: Tokens.List, style: MarkdownStyle, width: number): string {
  const start = Number(token.start) || 1;
  return token.items
    .map((item, index) => listItem(item, token.ordered ? `${start + index}. ` : '• ', style, width))
    .join('\n');
}

/** Aligns the columns and wraps the last one. */
function tableBlock(token: Tokens.Table, style: MarkdownStyle, width: number): string {
  const rows = [token.header, ...token.rows].map((cells) => cells.map((cell) => inline(cell.tokens, style)));
  const widths = token.header.map((_, column) => Math.max(...rows.map((row) => stringWidth(row[column] ?? ''))));
  const lines = rows.map((row) => {
    const lead = row
      .slice(0, -1)
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - stringWidth(cell) + 2));
    const indent = ' '.repeat(stringWidth(lead.join('')));
    return indentLines(wrapParagraph(row.at(-1) ?? '', style, width - indent.length), lead.join(''), indent);
  });
  return [style.bold(lines[0] ?? ''), ...lines.slice(1)].join('\n');
}

function block(token: Token, style: MarkdownStyle, width: number): string {
  switch (token.type) {
    case 'space':
      return '';
    case 'heading':
      return style.heading(inline(token.tokens, style));
    case 'code':
      return indentLines(style.code(token.text), INDENT, INDENT);
    case 'blockquote':
      return indentLines(blocks(token.tokens ?? [], style, width - 2), style.dim('│ '), style.dim('│ '));
    case 'list':
      return listBlock(token as Tokens.List, style, width);
    case 'table':
      return tableBlock(token as Tokens.Table, style, width);
    case 'hr':
      return style.dim('────');
    default:
      return wrapParagraph(inlineOne(token, style), style, width);
  }
}

function blocks(tokens: readonly Token[], style: MarkdownStyle, width: number): string {
  const texts = tokens.map((token) => block(token, style, width)).filter((text) => text !== '');
  return texts.join('\n\n');
}

/** Longer texts are not rendered, because parsing them could take very long. */
const MAX_LENGTH = 50_000;

/**
 * Renders Markdown for a terminal: emphasis, code, lists, tables, quotes, and links with their URL. Sanitizes the text
 * first, so that the output contains only the escape sequences that `style` adds.
 * @param width the column to wrap paragraphs at; by default, keeps the original line breaks
 */
export async function renderMarkdown(
  text: string,
  style: MarkdownStyle = UNSTYLED,
  width = Number.POSITIVE_INFINITY,
): Promise<string> {
  const sanitized = sanitizeText(text);
  if (sanitized.length > MAX_LENGTH) return sanitized;
  const { Lexer } = await import('marked');
  return blocks(new Lexer({ gfm: true, breaks: true }).lex(sanitized), style, width);
}
