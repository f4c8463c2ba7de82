import { deferred } from '../../cli/command.ts';
import { CONFIRM } from '../../cli/options.ts';
import { UsageError } from '../../errors.ts';
import { SESSION_HELP, sessionLeaf } from './shared/session-options.ts';

export const open = () =>
  sessionLeaf('open', 'Chat with an agent interactively', {
    description:
      'Opens a conversation with an agent: you type messages at a prompt, and new messages appear above it. Alt+Enter starts a new line; /help lists the commands. Without a terminal, use `chat send --wait`.',
    examples: [
      'partnerctl chat open --source src_123 --session ticket-42  # continue a conversation, or start one',
      'partnerctl chat open --agent name:Support --space ext:acme-001 --session ticket-42  # the same, by agent and space',
      'partnerctl chat open --agent agt_456 --session ticket-43  # an agent_id needs no space',
    ],
  })
    .option('--session <session_id>', SESSION_HELP)
    .option(...CONFIRM)
    .action(
      deferred(async (context, { session: session_id = '', confirm, ...options }) => {
        const { openChat } = await import('../../chat/open.ts');
        const { parseSource } = await import('../../chat/source.ts');
        const { openChatPrompt } = await import('./shared/chat-prompt.ts');
        const { stateLocation } = await import('../../state/location.ts');
        const source = parseSource(options);
        stateLocation(context);
        await context.prompts.confirmWrite(confirm);
        if (!context.prompts.isAvailable) {
          throw new UsageError('`chat open` needs a terminal.', { hint: 'In a script, use `chat send --wait`.' });
        }
        await openChat(context, source, session_id, () => openChatPrompt(context));
        return { kind: 'none' };
      }),
    );
