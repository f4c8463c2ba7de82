import type { ChatPrompt } from '../../../chat/open.ts';
import type { Context } from '../../../cli/context.ts';
import type { Message } from '../../../contract/messages.ts';
import type { MarkdownStyle } from '../../../output/markdown.ts';
import { sanitizeLine, sanitizeText } from '../../../output/sanitize.ts';
import { wrapText } from '../../../output/wrap.ts';
import { formatNotice } from './message-output.ts';

const READY_LABEL = '› ';
const AWAITING_LABEL = '… ';
const INDENT = '  ';

async function createStyle(hasColor: boolean): Promise<MarkdownStyle> {
  if (!hasColor) return { ...(await import('../../../output/markdown.ts')).UNSTYLED, keepsBreaks: true };
  const { Chalk } = await import('chalk');
  const { bold, italic, cyan: code, dim } = new Chalk({ level: 1 });
  return { bold, italic, code, dim, heading: bold.underline, keepsBreaks: true };
}

/** Creates the function that formats a message: the author, and the text with its Markdown rendered. */
async function messageFormatter({ hasColor, io }: Context): Promise<(message: Message) => Promise<string>> {
  const { renderMarkdown } = await import('../../../output/markdown.ts');
  const style = await createStyle(hasColor);
  return async ({ role, text }) => {
    const body = await renderMarkdown(text ?? '', style, io.stderr.columns - INDENT.length);
    return `${style.bold(sanitizeLine(role))}\n${body.replace(/^/gm, INDENT)}\n`;
  };
}

/** Opens the prompt of a conversation. */
export async function openChatPrompt(context: Context): Promise<ChatPrompt> {
  const format = await messageFormatter(context);
  const line = await context.openPrompt({ label: READY_LABEL });
  const say = (text: string): void => line.printAbove(wrapText(sanitizeText(text), context.io.stderr.columns, INDENT));
  let label = READY_LABEL;
  return {
    entries: line.entries,
    say,
    show: async (message) => line.printAbove(await format(message)),
    showEvent(event) {
      const text = formatNotice(event);
      if (text !== undefined) say(text);
    },
    setAwaiting(isAwaiting) {
      const next = isAwaiting ? AWAITING_LABEL : READY_LABEL;
      if (next !== label) line.setLabel(next);
      label = next;
    },
    nextLeaveKey: () => line.nextLeaveKey(),
    close: () => line.close(),
  };
}
