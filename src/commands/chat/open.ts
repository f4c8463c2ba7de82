import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { NewMessage } from '../../api/chat.ts';
import { resendCommand } from '../../chat/send-message.ts';
import { parseSession, SESSION_FLAG, type SessionRef, SOURCE_FLAG } from '../../chat/session.ts';
import { command } from '../../cli/command.ts';
import { UsageError } from '../../errors.ts';
import { sanitizeLine } from '../../output/sanitize.ts';

export default command<SessionRef>({
  description:
    'Opens a conversation with an agent: type messages at a prompt, and see new ones above it. Alt+Enter starts a new line; /help lists the commands. Without a terminal, use `chat send --wait`.',
  flags: [SOURCE_FLAG, SESSION_FLAG],
  examples: [
    {
      line: 'partnerctl chat open --source src_123 --session ticket-42',
      does: 'continue a conversation, or start one',
    },
  ],
  parse: parseSession,
  async run(context, session) {
    const { source_id, session_id } = session;
    if (!context.isInteractive) {
      throw new UsageError('`chat open` needs a terminal.', {
        hint: `In a script: partnerctl chat send --source ${source_id} --session ${session_id} --wait 'text'`,
      });
    }
    const [{ Conversation, READY_LABEL }, { openInputHistory }, { createMessageFormatter }] = await Promise.all([
      import('../../chat/conversation.ts'),
      import('../../chat/input-history.ts'),
      import('../../chat/format-message.ts'),
    ]);
    const http = await context.http();
    const { clock, random, signals, flags } = context;
    const { stderr: terminal } = context.io;
    const path = join(await context.privateDirectory(), 'chat-history.json');
    const hasSecret = (entry: string): boolean => context.redact(entry) !== entry;
    const history = await openInputHistory(path, hasSecret, (error) => {
      void context.warn(`Could not save the input history: ${String(error)}`);
    });
    const formatMessage = await createMessageFormatter(context.hasColor, terminal);
    const prompt = await context.openPrompt({
      label: READY_LABEL,
      history: history.entries,
      onHistory: history.save,
    });
    prompt.printAbove(
      sanitizeLine(`Source ${source_id}, session ${session_id}. /help lists the commands; Ctrl-D leaves.`),
    );
    const deps = {
      http,
      clock,
      random,
      interrupt: signals.interrupt,
      newId: randomUUID,
      prompt,
      formatMessage,
      terminal,
      resendCommand: (message: NewMessage) => resendCommand(message, flags),
    };
    await new Conversation(deps, session).run();
    return { kind: 'none' };
  },
});
