import { deferred, defineCommand } from '../../cli/command.ts';
import { AGENT_HELP, duration, SPACE_HELP } from '../../cli/options.ts';
import { CHAT_SCOPES, MESSAGE_JSON, MESSAGE_SAMPLE } from './shared/session-options.ts';

export const watch = () =>
  defineCommand('watch', 'Watch every conversation of this machine', {
    description:
      'Shows the status of every conversation of this machine, the longest unanswered first, and keeps it up to date. The conversations are those that this machine has sent messages to, or followed, also while it watches. Without a terminal, it shows new messages as they arrive.',
    scopes: CHAT_SCOPES,
    json: `[{source_id, session_id, space, agent, status, unanswered_since, last_message_at, last_message}] with --no-follow, else ${MESSAGE_JSON}`,
    examples: [
      'partnerctl chat watch --space ext:acme-001  # the conversations in one space',
      'partnerctl chat watch --agent name:Support --space ext:acme-001  # those with one agent',
      `partnerctl chat watch --no-follow -o json --query "[?status=='unanswered']"  # those that wait for an answer, for a script`,
    ],
  })
    .option('--space <space>', `only conversations in a space: ${SPACE_HELP}`)
    .option('--agent <agent>', `only conversations with an agent: ${AGENT_HELP}`)
    .option('--source <source_id>', 'only conversations of an API chat source')
    .option('--no-follow', 'exit once the conversations are shown')
    .option('--interval <duration>', 'poll each session at this fixed interval (default: adaptive)', duration)
    .action(
      deferred(async (context, options) => {
        const { Watch } = await import('../../chat/watch.ts');
        const { readOnce, toScreens, toStreamEvents } = await import('./shared/watch-output.ts');
        const watch = new Watch(context, options);
        context.progress.start('Reading the conversations');
        if (!options.follow) return await readOnce(context, watch);
        const [events, screens] = [toStreamEvents(context, watch), toScreens(context, watch)];
        return { kind: 'stream', events, screens, sample: MESSAGE_SAMPLE };
      }),
    );
