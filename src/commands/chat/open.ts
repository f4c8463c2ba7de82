import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { NewMessage } from '../../api/chat.ts';
import { SessionMemory } from '../../chat/known-sessions.ts';
import { resendCommand } from '../../chat/send-message.ts';
import {
  parseSession,
  REQUIRED_SESSION,
  SESSION_FLAG,
  type SessionInput,
  SOURCE_FLAGS,
  sourceArgs,
} from '../../chat/session-args.ts';
import { parseWebhook, startWebhookPolls, WEBHOOK_FLAGS, type WebhookInput } from '../../chat/webhook-polls.ts';
import { command, SERVICE_EXITS } from '../../cli/command.ts';
import { shellCommand } from '../../cli/shell-command.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { UsageError } from '../../errors.ts';
import { sanitizeLine } from '../../output/sanitize.ts';
import { wrapText } from '../../output/wrap.ts';
import type { SessionRef } from '../../state-old/session-ref.ts';

interface Input extends SessionInput {
  readonly webhook: WebhookInput | undefined;
}

export default command<Input>({
  description:
    'Opens a conversation with an agent: you type messages at a prompt, and new messages appear above it. Alt+Enter starts a new line; /help lists the commands. Without a terminal, use `chat send --wait`.',
  flags: [...SOURCE_FLAGS, SESSION_FLAG, ...WEBHOOK_FLAGS],
  output: async () => (await import('../../output-schemas/chat.ts')).CHAT_OPEN,
  scopes: [SCOPE.chat],
  required: REQUIRED_SESSION,
  exits: SERVICE_EXITS,
  examples: [
    {
      line: 'partnerctl chat open --source src_123 --session ticket-42',
      does: 'continue a conversation, or start one',
    },
    {
      line: 'partnerctl chat open --agent name:Support --space ext:acme-001 --session ticket-42',
      does: 'the same, by agent and space',
    },
  ],
  parse: (args) => ({ ...parseSession(args), webhook: parseWebhook(args) }),
  writes: () => true,
  async run(context, { source: input, session_id, webhook }) {
    const { clock, random, abortSignal, flags } = context;
    if (!context.isInteractive) {
      const send = ['chat', 'send', ...sourceArgs(input), '--session', session_id, '--wait'];
      throw new UsageError('`chat open` needs a terminal.', {
        hint: `In a script: ${shellCommand(send, flags)} 'text'`,
      });
    }
    const [{ findSource }, interactiveChat, { openInputHistory }, { createMessageFormatter }] = await Promise.all([
      import('../../chat/find-source.ts'),
      import('../../chat/interactive-chat.ts'),
      import('../../chat/input-history.ts'),
      import('../../chat/format-message.ts'),
    ]);
    const http = await context.http();
    const { source_id, renew } = await findSource(context, http, input);
    const { stderr: terminal } = context.io;
    const path = join(await context.privateDirectory(), 'chat-history.json');
    const hasSecret = (entry: string): boolean => context.redact(entry) !== entry;
    const history = await openInputHistory(path, hasSecret, (error) => {
      void context.warn(`Could not save the input history: ${String(error)}`);
    });
    const formatMessage = await createMessageFormatter(context.hasColor, terminal);
    const trigger = await startWebhookPolls(context, webhook);
    const prompt = await context.openPrompt({
      label: interactiveChat.READY_LABEL,
      history: history.entries,
      onHistory: history.save,
    });
    const opening = `Source ${source_id}, session ${session_id}. /help lists the commands; Ctrl-D leaves.`;
    prompt.printAbove(wrapText(sanitizeLine(opening), terminal.columns, '  '));
    const sessions = new SessionMemory(context, http.baseUrl);
    const deps = {
      http,
      clock,
      random,
      interrupt: abortSignal,
      newId: randomUUID,
      prompt,
      formatMessage,
      async rememberSession(session: SessionRef) {
        await sessions.add(session);
        await sessions.save();
      },
      terminal,
      resendCommand: (message: NewMessage) => resendCommand(message, flags),
      renewSource: renew,
      trigger,
    };
    try {
      await new interactiveChat.InteractiveChat(deps, { source_id, session_id }).run();
    } finally {
      await trigger?.close();
    }
    return { kind: 'none' };
  },
});
