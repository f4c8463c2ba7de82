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

function indentLines(text: string, first: string, rest: string): string {
  return first + text.replaceAll('\n', `\n${rest}`);
}

/** Renders the tokens of one text. */
class Renderer {
  private readonly options: MarkdownOptions;

  constructor(options: MarkdownOptions) {
    this.options = options;
  }

  blocks(tokens: readonly Token[], width: number): string {
    const texts = tokens.map((token) => this.block(token, width)).filter((text) => text !== '');
    return texts.join('\n\n');
  }

  private inline(tokens: readonly Token[] = []): string {
    return tokens.map((token) => this.inlineOne(token)).join('');
  }

  private inlineOne(token: Token): string {
    const { chalk } = this.options;
    const inner = 'tokens' in token && token.tokens ? this.inline(token.tokens) : undefined;
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
  }

  private paragraph(text: string, width: number): string {
    return wrapWords(this.options.keepsBreaks ? text : text.replaceAll('\n', ' '), Math.max(width, MIN_WIDTH));
  }

  private list({ items, ordered, start }: Tokens.List, width: number): string {
    const lines = items.map(({ tokens, task, checked }, index) => {
      const mark = ordered ? `${(Number(start) || 1) + index}. ` : '• ';
      const box = task ? `[${checked ? 'x' : ' '}] ` : '';
      const blocks = tokens.filter(({ type }) => type !== 'checkbox');
      const body = blocks.map((token) => this.block(token, width - mark.length)).filter((text) => text !== '');
      return indentLines(box + body.join('\n'), mark, ' '.repeat(mark.length));
    });
    return lines.join('\n');
  }

  /** Aligns the columns and wraps the last one. */
  private table({ header, rows }: Tokens.Table, width: number): string {
    const texts = [header, ...rows].map((cells) => cells.map((cell) => this.inline(cell.tokens)));
    const widths = header.map((_, column) => Math.max(...texts.map((row) => stringWidth(row[column] ?? ''))));
    const lines = texts.map((row) => {
      const lead = row.slice(0, -1).map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - stringWidth(cell) + 2));
      const indent = ' '.repeat(stringWidth(lead.join('')));
      return indentLines(this.paragraph(row.at(-1) ?? '', width - indent.length), lead.join(''), indent);
    });
    return [this.options.chalk.bold(lines[0]), ...lines.slice(1)].join('\n');
  }

  private block(token: Token, width: number): string {
    const { chalk } = this.options;
    switch (token.type) {
      case 'space':
        return '';
      case 'heading':
        return chalk.bold(this.inline(token.tokens));
      case 'code':
        return indentLines(chalk.cyan(token.text), INDENT, INDENT);
      case 'blockquote':
        return indentLines(this.blocks(token.tokens ?? [], width - 2), chalk.dim('│ '), chalk.dim('│ '));
      case 'list':
        return this.list(token as Tokens.List, width);
      case 'table':
        return this.table(token as Tokens.Table, width);
      case 'hr':
        return chalk.dim('────');
      default:
        return this.paragraph(this.inlineOne(token), width);
    }
  }
}

/**
 * Renders Markdown for a terminal: emphasis, code, lists, tables, quotes, and links with their URL. Sanitizes the text
 * first, so that the output contains only the escape sequences of chalk.
 */
export async function renderMarkdown(text: string, options: MarkdownOptions): Promise<string> {
  const sanitized = sanitizeText(text);
  if (sanitized.length > MAX_LENGTH) return sanitized;
  const { Lexer } = await import('marked');
  return new Renderer(options).blocks(new Lexer({ gfm: true, breaks: true }).lex(sanitized), options.width);
}
