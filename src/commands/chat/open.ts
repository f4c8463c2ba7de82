import { randomUUID } from 'node:crypto';
import { findSource } from '../../chat/source.ts';
import { command, SERVICE_EXITS } from '../../cli/command.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { PartnerctlError, UsageError } from '../../errors.ts';
import { sanitizeLine } from '../../output/sanitize.ts';
import { openChatPrompt } from './shared/chat-prompt.ts';
import { formatCause } from './shared/message-output.ts';
import { resendCommand } from './shared/resend-command.ts';
import {
  commandFormatter,
  followDeps,
  openPlaces,
  parseSession,
  REQUIRED_SESSION,
  SESSION_FLAG,
  type SessionInput,
  SOURCE_FLAGS,
  sourceArgs,
} from './shared/session-flags.ts';

export default command<SessionInput>({
  description:
    'Opens a conversation with an agent: you type messages at a prompt, and new messages appear above it. Alt+Enter starts a new line; /help lists the commands. Without a terminal, use `chat send --wait`.',
  flags: [...SOURCE_FLAGS, SESSION_FLAG],
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
  parse: parseSession,
  writes: () => true,
  async run(context, { source, session_id }) {
    const toCommand = commandFormatter(context);
    if (!context.isInteractive) {
      throw new UsageError('`chat open` needs a terminal.', {
        hint: `In a script: ${toCommand(['chat', 'send', ...sourceArgs(source), '--session', session_id, '--wait'])} 'text'`,
      });
    }
    const { openChat } = await import('../../chat/open.ts');
    const http = await context.http();
    const source_id = await findSource(http, source, toCommand);
    const places = await openPlaces(context, http);
    places.check({ source_id, session_id });
    const prompt = await openChatPrompt(context);
    prompt.say(sanitizeLine(`Source ${source_id}, session ${session_id}. /help lists the commands; Ctrl-D leaves.`));
    let isRecording = true;
    const deps = {
      ...followDeps(context, http),
      signal: context.abortSignal,
      prompt,
      newId: randomUUID,
      resendCommand: (message: Parameters<typeof resendCommand>[1]) => resendCommand(context, message),
      describeError: formatCause,
      async remember(session: Parameters<typeof places.remember>[0]) {
        try {
          if (isRecording) await places.remember(session);
        } catch (error) {
          if (!(error instanceof PartnerctlError)) throw error;
          isRecording = false;
          prompt.say(`${error.message} \`chat watch\` does not show this session.`);
        }
      },
    };
    await openChat(deps, { source_id, session_id });
    return { kind: 'none' };
  },
});
