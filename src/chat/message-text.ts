import type { Message } from '../contract/messages.ts';
import { type MarkdownStyle, renderMarkdown } from '../output/markdown.ts';
import { sanitizeLine } from '../output/sanitize.ts';

async function createStyle(color: boolean): Promise<MarkdownStyle | undefined> {
  if (!color) return undefined;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  return { bold: chalk.bold, italic: chalk.italic, code: chalk.cyan, dim: chalk.dim, heading: chalk.bold.underline };
}

/** How messages are shown in a conversation: who wrote it, and the text, Markdown made readable. */
export async function messageText(color: boolean): Promise<(message: Message) => Promise<string>> {
  const style = await createStyle(color);
  return async ({ role, text }) => {
    const author = sanitizeLine(role);
    const body = await renderMarkdown(text ?? '', style);
    return `${style ? style.bold(author) : author}\n${body.replace(/^/gm, '  ')}\n`;
  };
}
