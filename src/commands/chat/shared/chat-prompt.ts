import type { ChatPrompt } from '../../../chat/open.ts';
import type { Context } from '../../../cli/context.ts';
import { PromptLine } from '../../../cli/prompt-line.ts';
import { sanitizeLine, sanitizeText } from '../../../output/sanitize.ts';
import { wrapText, wrapWords } from '../../../output/wrap.ts';
import { formatNotice, readableText } from './messages.ts';

const READY_LABEL = '› ';
const AWAITING_LABEL = '… ';
const INDENT = '  ';

/** Opens the prompt of a conversation. */
export async function openChatPrompt(context: Context): Promise<ChatPrompt> {
  const line = new PromptLine(context, READY_LABEL);
  const say = (text: string): void => line.printAbove(wrapText(sanitizeText(text), context.io.stderr.columns, INDENT));
  return {
    entries: line.entries(),
    say,
    show(message) {
      const text = readableText(message).replaceAll('\n', `\n${INDENT}`);
      line.printAbove(wrapWords(`${sanitizeLine(message.role)}: ${text}`, context.io.stderr.columns, INDENT));
    },
    showEvent(event) {
      const text = formatNotice(event);
      if (text !== undefined) say(text);
    },
    setAwaiting: (isAwaiting) => line.setLabel(isAwaiting ? AWAITING_LABEL : READY_LABEL),
    close: () => line.close(),
  };
}
