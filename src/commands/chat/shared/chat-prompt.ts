import type { ChatPrompt } from '../../../chat/open.ts';
import type { Context } from '../../../cli/context.ts';
import { sanitizeLine, sanitizeText } from '../../../output/sanitize.ts';
import { WORD, wrapText } from '../../../output/wrap.ts';
import { formatNotice, readableText } from './messages.ts';
import { PromptLine } from './prompt-line.ts';

const INDENT = '  ';

/** Opens the prompt of a conversation. */
export async function openChatPrompt(context: Context): Promise<ChatPrompt> {
  const line = new PromptLine(context, '› ');
  const say = (text: string): void => line.printAbove(wrapText(sanitizeText(text), context.io.stderr.columns, INDENT));
  return {
    entries: line.entries(),
    say,
    show(event) {
      const notice = formatNotice(event);
      if (notice !== undefined) say(notice);
      if (event.kind !== 'message') return;
      const text = readableText(event.message).replaceAll('\n', `\n${INDENT}`);
      line.printAbove(
        wrapText(`${sanitizeLine(event.message.role)}: ${text}`, context.io.stderr.columns, INDENT, WORD),
      );
    },
    close: () => line.close(),
  };
}
