import type { ChalkInstance } from 'chalk';
import type { Token, Tokens } from 'marked';
import stringWidth from 'string-width';
import { sanitizeText } from './sanitize.ts';
import { wrapWords } from './wrap.ts';

export interface MarkdownOptions {
  /** Styles the elements; of level 0, it leaves them plain. */
  readonly chalk: ChalkInstance;
  /** The column to wrap paragraphs at. */
  readonly width: number;
  /** Whether paragraphs keep their line breaks. By default, they are refilled. */
  readonly keepsBreaks?: boolean;
}

const INDENT = '  ';
/** The minimum width of a paragraph, even if it is deeply indented. */
const MIN_WIDTH = 20;
/** Longer texts are not rendered, because parsing them could take very long. */
const MAX_LENGTH = 50_000;

function indentLines(text: string, first: string, rest = ' '.repeat(first.length)): string {
  return first + text.replaceAll('\n', `\n${rest}`);
}

function inlineText(tokens: readonly Token[], chalk: ChalkInstance): string {
  const textOf = (token: Token): string => {
    const inner = 'tokens' in token && token.tokens ? inlineText(token.tokens, chalk) : undefined;
    switch (token.type) {
      case 'strong':
        return chalk.bold(inner);
      case 'em':
        return chalk.italic(inner);
      case 'codespan':
        return chalk.cyan(token.text);
      case 'link':
        // Always shows the URL, because the text can be misleading.
        return inner === token.href ? token.href : `${inner} ${chalk.dim(`(${token.href})`)}`;
      case 'br':
        return '\n';
      default:
        return inner ?? ('text' in token && typeof token.text === 'string' ? token.text : token.raw);
    }
  };
  return tokens.map(textOf).join('');
}

function paragraph(text: string, { width, keepsBreaks = false }: MarkdownOptions): string {
  return wrapWords(keepsBreaks ? text : text.replaceAll('\n', ' '), Math.max(width, MIN_WIDTH));
}

function list({ items, ordered, start }: Tokens.List, options: MarkdownOptions): string {
  const lines = items.map(({ tokens }, index) => {
    const mark = ordered ? `${(Number(start) || 1) + index}. ` : '• ';
    return indentLines(blocks(tokens, { ...options, width: options.width - mark.length }, '\n'), mark);
  });
  return lines.join('\n');
}

/** Aligns the columns and wraps the last one. */
function table({ header, rows }: Tokens.Table, options: MarkdownOptions): string {
  const texts = [header, ...rows].map((cells) => cells.map((cell) => inlineText(cell.tokens, options.chalk)));
  const widths = header.map((_, column) => Math.max(...texts.map((row) => stringWidth(row[column] ?? ''))));
  const lines = texts.map((row) => {
    const lead = row.slice(0, -1).map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - stringWidth(cell) + 2));
    const indent = stringWidth(lead.join(''));
    const last = paragraph(row.at(-1) ?? '', { ...options, width: options.width - indent });
    return indentLines(last, lead.join(''), ' '.repeat(indent));
  });
  return [options.chalk.bold(lines[0]), ...lines.slice(1)].join('\n');
}

function block(token: Token, options: MarkdownOptions): string {
  const { chalk } = options;
  switch (token.type) {
    case 'space':
    case 'checkbox':
      return '';
    case 'heading':
      return chalk.bold(inlineText(token.tokens ?? [], chalk));
    case 'code':
      return indentLines(chalk.cyan(token.text), INDENT);
    case 'list':
      return list(token as Tokens.List, options);
    case 'table':
      return table(token as Tokens.Table, options);
    default:
      return paragraph(inlineText([token], chalk), options);
  }
}

function blocks(tokens: readonly Token[], options: MarkdownOptions, between: string): string {
  const texts = tokens.map((token) => block(token, options)).filter((text) => text !== '');
  return texts.join(between);
}

/**
 * Renders Markdown for a terminal: emphasis, code, lists, tables, and links with their URL. Sanitizes the text first, so that
 * the output contains only the escape sequences of chalk.
 */
export async function renderMarkdown(text: string, options: MarkdownOptions): Promise<string> {
  const sanitized = sanitizeText(text);
  if (sanitized.length > MAX_LENGTH) return sanitized;
  const { Lexer } = await import('marked');
  return blocks(new Lexer({ gfm: true, breaks: true }).lex(sanitized), options, '\n\n');
}
