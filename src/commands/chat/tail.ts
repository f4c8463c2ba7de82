import type { TailOptions } from '../../chat/tail.ts';
import { deferred } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { collect, duration, integer } from '../../cli/options.ts';
import type { SessionRef } from '../../contract/messages.ts';
import type { StreamEvent } from '../../output/command-result.ts';
import { MESSAGE_JSON, MESSAGE_SAMPLE, sessionLeaf } from './shared/session-options.ts';

async function* eventsOf(
  context: Context,
  sessions: readonly SessionRef[],
  options: TailOptions,
  showTimestamp: boolean,
): AsyncGenerator<StreamEvent, void, void> {
  const { tail } = await import('../../chat/tail.ts');
  const { explainUnrecognized, isUnrecognized } = await import('../../chat/unrecognized-author.ts');
  const { sessionColors, toStreamEvent, writeNotice } = await import('./shared/messages.ts');
  const http = await context.http();
  const colorOf = sessionColors();
  let hasWarned = false;
  for await (const event of tail(context, http, sessions, options)) {
    await writeNotice(context, event);
    if (event.kind === 'caught-up' && event.isEmpty && options.start.from !== 'place') {
      await context.notice(`note: session ${event.ref.session_id} has no messages yet.`);
    }
    if (event.kind !== 'message') continue;
    const label = sessions.length > 1 ? event.ref.session_id : undefined;
    yield toStreamEvent(event.ref, event.message, { label, colorOf, showTimestamp });
    if (hasWarned || !isUnrecognized(event.message)) continue;
    hasWarned = true;
    const { why, hint } = explainUnrecognized(event.message, http.contract, context.command);
    await context.warn(`${why} ${hint.replaceAll('\n', ' ')}`);
  }
}

export const tail = () =>
  sessionLeaf('tail', 'Follow the messages of one or more sessions', {
    description:
      'Shows the messages of one or more sessions as they arrive, each once, and those of a session in order, until Ctrl-C. It continues after failures of the service and the network.',
    json: MESSAGE_JSON,
    examples: [
      'partnerctl chat tail --source src_1 --session anna  # the last ten messages, then new ones',
      'partnerctl chat tail --source src_1 --session anna --session ben --resume -o json  # two sessions, showing each message only once across runs',
      'partnerctl chat tail --agent name:Support --space ext:acme-001 --session anna --from-start --no-follow  # the whole session; the source by agent and space',
    ],
  })
    .option('--session <session_id>', 'the conversation; repeatable', collect, [])
    .option('--after <message_id>', 'start after this message: a message_id that `chat send` or `chat tail` printed')
    .option('--tail <n>', 'start with the last n messages (default: 10)', integer(0, 100_000))
    .option('--from-start', 'start with the first message')
    .option('--resume', 'start where the last tail of the session ended')
    .option('--no-follow', 'exit once all existing messages are shown')
    .option('--interval <duration>', 'poll each session at this fixed interval (default: adaptive)', duration)
    .option('--timestamps', 'show when each message was created')
    .option('--max-outage <duration>', 'exit 8 after such an outage (default with --no-follow: 30s)', duration)
    .action(
      deferred(
        async (context, { timestamps = false, follow, interval: intervalMs, maxOutage: maxOutageMs, ...typed }) => {
          const { parseStart } = await import('../../chat/tail.ts');
          const { findSource, parseSource } = await import('../../chat/source.ts');
          const { stateLocation } = await import('../../state/location.ts');
          const options = { start: parseStart(typed), once: !follow, intervalMs, maxOutageMs };
          const source = parseSource(typed);
          // An invalid address of the state is refused before anything is requested.
          stateLocation(context);
          const source_id = await findSource(await context.http(), source, context.command);
          const sessions = [...new Set(typed.session)].map((session_id) => ({ source_id, session_id }));
          return { kind: 'stream', events: eventsOf(context, sessions, options, timestamps), sample: MESSAGE_SAMPLE };
        },
      ),
    );
