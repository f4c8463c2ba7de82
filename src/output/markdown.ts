import type { ChalkInstance } from 'chalk';
import { Lexer, type Token, type Tokens } from 'marked';
import stringWidth from 'string-width';
import { WORD, wrapText } from './wrap.ts';

interface MarkdownOptions {
  /** Styles the elements; of level 0, it leaves them plain. */
  readonly chalk: ChalkInstance;
  readonly width: number;
}

function inlineText(tokens: readonly Token[], chalk: ChalkInstance): string {
  const textOf = (token: Token): string => {
    if (token.type === 'codespan') return chalk.cyan(token.text);
    const inner = 'tokens' in token && token.tokens ? inlineText(token.tokens, chalk) : token.raw;
    if (token.type === 'link') return `${inner} ${chalk.dim(`(${token.href})`)}`;
    return token.type === 'strong' ? chalk.bold(inner) : inner;
  };
  return tokens.map(textOf).join('').replaceAll('\n', ' ');
}

/** Aligns the columns and wraps the last one. */
function table({ header, rows }: Tokens.Table, { chalk, width }: MarkdownOptions): string {
  const texts = [header, ...rows].map((cells) => cells.map((cell) => inlineText(cell.tokens, chalk)));
  const widths = header.map((_, column) => Math.max(...texts.map((row) => stringWidth(row[column] ?? ''))));
  const lines = texts.map((row) => {
    const lead = row.slice(0, -1).map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - stringWidth(cell) + 2));
    const indent = stringWidth(lead.join(''));
    const last = wrapText(row.at(-1) ?? '', width - indent, '', WORD);
    return lead.join('') + last.replaceAll('\n', `\n${' '.repeat(indent)}`);
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
      return chalk.cyan(token.text).replaceAll(/^/gm, '  ');
    case 'table':
      return table(token as Tokens.Table, options);
    case 'list': {
      const { items, ordered } = token as Tokens.List;
      const lines = items.map(({ tokens }, at) => `${ordered ? `${at + 1}.` : '•'} ${inlineText(tokens, chalk)}`);
      return lines.map((line) => wrapText(line, width, ordered ? '   ' : '  ', WORD)).join('\n');
    }
    default:
      return wrapText(inlineText([token], chalk), width, '', WORD);
  }
}

/** Renders the Markdown of the help topics for a terminal. The items of their lists are paragraphs. */
export function renderMarkdown(text: string, options: MarkdownOptions): string {
  const texts = new Lexer().lex(text).map((token) => block(token, options));
  return texts.filter((each) => each !== '').join('\n\n');
}
