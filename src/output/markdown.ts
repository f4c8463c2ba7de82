import type { ChalkInstance } from 'chalk';
import { Lexer, type Token, type Tokens } from 'marked';
import stringWidth from 'string-width';
import { WORD, wrapText } from './wrap.ts';

export interface MarkdownOptions {
  /** Styles the elements; of level 0, it leaves them plain. */
  readonly chalk: ChalkInstance;
  /** The column to wrap paragraphs at. */
  readonly width: number;
}

/** The minimum width of a paragraph, even if it is deeply indented. */
const MIN_WIDTH = 20;

function indentLines(text: string, first: string, rest = ' '.repeat(first.length)): string {
  return first + text.replaceAll('\n', `\n${rest}`);
}

function inlineText(tokens: readonly Token[], chalk: ChalkInstance): string {
  const textOf = (token: Token): string => {
    if (token.type === 'codespan') return chalk.cyan(token.text);
    const inner = 'tokens' in token && token.tokens ? inlineText(token.tokens, chalk) : token.raw;
    if (token.type === 'link') return `${inner} ${chalk.dim(`(${token.href})`)}`;
    return token.type === 'strong' ? chalk.bold(inner) : inner;
  };
  return tokens.map(textOf).join('');
}

function paragraph(text: string, width: number): string {
  return wrapText(text.replaceAll('\n', ' '), Math.max(width, MIN_WIDTH), '', WORD);
}

function list({ items, ordered }: Tokens.List, options: MarkdownOptions): string {
  const lines = items.map(({ tokens }, index) => {
    const mark = ordered ? `${index + 1}. ` : '• ';
    return indentLines(blocks(tokens, { ...options, width: options.width - mark.length }, '\n'), mark);
  });
  return lines.join('\n');
}

/** Aligns the columns and wraps the last one. */
function table({ header, rows }: Tokens.Table, { chalk, width }: MarkdownOptions): string {
  const texts = [header, ...rows].map((cells) => cells.map((cell) => inlineText(cell.tokens, chalk)));
  const widths = header.map((_, column) => Math.max(...texts.map((row) => stringWidth(row[column] ?? ''))));
  const lines = texts.map((row) => {
    const lead = row.slice(0, -1).map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - stringWidth(cell) + 2));
    const indent = stringWidth(lead.join(''));
    return indentLines(paragraph(row.at(-1) ?? '', width - indent), lead.join(''), ' '.repeat(indent));
  });
  return [chalk.bold(lines[0]), ...lines.slice(1)].join('\n');
}

function block(token: Token, options: MarkdownOptions): string {
  const { chalk, width } = options;
  switch (token.type) {
    case 'space':
      return '';
    case 'heading':
      return chalk.bold(inlineText(token.tokens ?? [], chalk));
    case 'code':
      return indentLines(chalk.cyan(token.text), '  ');
    case 'list':
      return list(token as Tokens.List, options);
    case 'table':
      return table(token as Tokens.Table, options);
    default:
      return paragraph(inlineText([token], chalk), width);
  }
}

function blocks(tokens: readonly Token[], options: MarkdownOptions, between: string): string {
  const texts = tokens.map((token) => block(token, options)).filter((text) => text !== '');
  return texts.join(between);
}

/** Renders the Markdown of the help topics for a terminal. */
export function renderMarkdown(text: string, options: MarkdownOptions): string {
  return blocks(new Lexer().lex(text), options, '\n\n');
}
