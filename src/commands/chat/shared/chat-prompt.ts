import type { ChatPrompt } from '../../../chat/open.ts';
import type { Context } from '../../../cli/context.ts';
import type { Message } from '../../../contract/messages.ts';
import { sanitizeLine, sanitizeText } from '../../../output/sanitize.ts';
import { wrapText } from '../../../output/wrap.ts';
import { formatNotice } from './messages.ts';

const READY_LABEL = '› ';
const AWAITING_LABEL = '… ';
const INDENT = '  ';

/** Creates the function that formats a message: the author, and the text with its Markdown rendered. */
async function messageFormatter({ hasColor, io }: Context): Promise<(message: Message) => Promise<string>> {
  const { Chalk } = await import('chalk');
  const { renderMarkdown } = await import('../../../output/markdown.ts');
  const chalk = new Chalk({ level: hasColor ? 1 : 0 });
  return async ({ role, text }) => {
    const width = io.stderr.columns - INDENT.length;
    const body = await renderMarkdown(text ?? '', { chalk, width, keepsBreaks: true });
    return `${chalk.bold(sanitizeLine(role))}\n${body.replace(/^/gm, INDENT)}\n`;
  };
}

/** Opens the prompt of a conversation. */
export async function openChatPrompt(context: Context): Promise<ChatPrompt> {
  const format = await messageFormatter(context);
  const line = await context.openPrompt(READY_LABEL);
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
