import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Sent } from '../../chat/conversation.ts';
import { repeatCommand } from '../../chat/repeat.ts';
import { command } from '../../cli/command.ts';
import { UsageError } from '../../errors.ts';
import { sanitizeLine } from '../../output/sanitize.ts';

interface Input {
  readonly source: string;
  readonly session: string;
}

export default command<Input>({
  description:
    'Talks to an agent: a prompt, with what comes shown live above it. Alt+Enter begins a new line; /help shows the words that there are. Without a terminal use `chat send --wait`.',
  flags: [
    { usage: '--source <source_id>', description: 'the API chat source; `chat setup` tells it' },
    { usage: '--session <session_id>', description: 'the conversation, under an id of your own' },
  ],
  examples: [
    {
      line: 'partnerctl chat open --source src_123 --session ticket-42',
      does: 'go on in a conversation, or begin one',
    },
  ],
  parse(words) {
    const source = words.value('source');
    const session = words.value('session');
    if (!source || !session) {
      throw new UsageError('--source and --session are needed.', {
        hint: '`partnerctl chat setup <space> <agent>` tells the source; the session is an id of your own.',
      });
    }
    return { source, session };
  },
  async run(context, { source, session }) {
    if (!context.isInteractive) {
      throw new UsageError('`chat open` needs a terminal.', {
        hint: `In a script: partnerctl chat send --source ${source} --session ${session} --wait 'text'`,
      });
    }
    const [{ Conversation }, { openHistory }, { messageText }] = await Promise.all([
      import('../../chat/conversation.ts'),
      import('../../chat/history.ts'),
      import('../../chat/message-text.ts'),
    ]);
    const http = await context.http();
    const { clock, random, signals } = context;
    const path = join(await context.privateDirectory(), 'chat-history.json');
    const history = await openHistory(path, (error) => {
      void context.warn(`what is entered cannot be kept for the next time: ${String(error)}`);
    });
    const prompt = await context.openPrompt({ label: '› ', history: history.entries, onHistory: history.keep });
    prompt.above(sanitizeLine(`Source ${source}, session ${session}. /help shows what there is; Ctrl-D leaves.`));
    const show = await messageText(context.hasColor);
    const repeatLine = (sessionId: string, { external_message_id, text }: Sent): string =>
      repeatCommand({ source_id: source, session_id: sessionId, external_message_id, text }, context.flags);
    const parts = { http, clock, random, interrupt: signals.interrupt, newId: randomUUID, prompt, show, repeatLine };
    try {
      await new Conversation(parts, source, session).run();
    } finally {
      await history.settled();
    }
    return { kind: 'none' };
  },
});
