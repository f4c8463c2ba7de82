import { randomUUID } from 'node:crypto';
import { leaf, run, SERVICE_EXITS } from '../../cli/leaf.ts';
import { confirmOption, SPACE_HELP } from '../../cli/options.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { UsageError } from '../../errors.ts';
import { REQUIRED_SESSION, SESSION_HELP, SOURCE_AGENT_HELP, SOURCE_HELP } from './shared/session-options.ts';

export const open = () =>
  leaf('open', 'Chat with an agent interactively', {
    description:
      'Opens a conversation with an agent: you type messages at a prompt, and new messages appear above it. Alt+Enter starts a new line; /help lists the commands. Without a terminal, use `chat send --wait`.',
    required: REQUIRED_SESSION,
    scopes: [SCOPE.chat],
    exits: SERVICE_EXITS,
    examples: [
      ['partnerctl chat open --source src_123 --session ticket-42', 'continue a conversation, or start one'],
      [
        'partnerctl chat open --agent name:Support --space ext:acme-001 --session ticket-42',
        'the same, by agent and space',
      ],
    ],
  })
    .option('--source <source_id>', SOURCE_HELP)
    .option('--agent <agent>', SOURCE_AGENT_HELP)
    .option('--space <space>', SPACE_HELP)
    .option('--session <session_id>', SESSION_HELP)
    .addOption(confirmOption())
    .action(
      run(async (context, { session: session_id = '', confirm, ...options }) => {
        const [{ startChat }, { parseSource, sourceFlags }, { openChatPrompt }, { formatCause }] = await Promise.all([
          import('../../chat/start-chat.ts'),
          import('../../chat/source.ts'),
          import('./shared/chat-prompt.ts'),
          import('./shared/message-output.ts'),
        ]);
        const source = parseSource(options);
        await context.confirmWrite(confirm);
        if (!context.isInteractive) {
          const send = ['chat', 'send', ...sourceFlags(options), '--session', session_id, '--wait'];
          throw new UsageError('`chat open` needs a terminal.', {
            hint: `In a script: ${context.command(send)} 'text'`,
          });
        }
        const prompt = { openPrompt: () => openChatPrompt(context), describeError: formatCause };
        await startChat(context, { source, session_id, newId: randomUUID, ...prompt });
        return { kind: 'none' };
      }),
    );
