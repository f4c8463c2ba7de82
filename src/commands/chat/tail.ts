import { type Meta, run, SERVICE_EXITS } from '../../cli/leaf.ts';
import { collect, duration, integer } from '../../cli/options.ts';
import { sessionLeaf } from './shared/session-options.ts';

const META: Meta = {
  description:
    'Shows the messages of one or more sessions as they arrive, each once and in order, until Ctrl-C. It continues after failures of the service and the network.',
  exits: SERVICE_EXITS,
  examples: [
    'partnerctl chat tail --source src_1 --session anna  # the last ten messages, then new ones',
    'partnerctl chat tail --source src_1 --session anna --session ben --resume -o json  # two sessions, showing each message only once across runs',
    'partnerctl chat tail --agent name:Support --space ext:acme-001 --session anna --from-start --no-follow  # the whole session; the source by agent and space',
  ],
};

export const tail = () =>
  sessionLeaf('tail', 'Follow the messages of one or more sessions', META)
    .option('--session <session_id>', 'the conversation; repeatable', collect, [])
    .option('--after <message_id>', 'start after this message: a message_id that `chat send` or `chat tail` printed')
    .option('--tail <n>', 'start with the last n messages (default: 10)', integer(0, 100_000))
    .option('--from-start', 'start with the first message')
    .option('--resume', 'start where the last tail of the session ended')
    .option('--no-follow', 'exit once all existing messages are shown')
    .option('--interval <duration>', 'poll each session at this fixed interval (default: adaptive)', duration)
    .option('--timestamps', 'show when each message was created')
    .option(
      '--max-outage <duration>',
      'exit 8 when the service is out of reach for this long (default with --no-follow: 30s)',
      duration,
    )
    .action(
      run(async (context, { source, agent, space, timestamps: showTimestamp = false, ...typed }) => {
        const { parseTail } = await import('../../chat/tail.ts');
        const { findSource, parseSource } = await import('../../chat/source.ts');
        const { toStreamEvents } = await import('./shared/tail-output.ts');
        const options = parseTail(typed);
        const named = parseSource({ source, agent, space });
        const http = await context.http();
        const source_id = await findSource(http, named, context.command);
        const sessions = [...new Set(typed.session)].map((session_id) => ({ source_id, session_id }));
        return { kind: 'stream', events: toStreamEvents(context, http, sessions, { ...options, showTimestamp }) };
      }),
    );
