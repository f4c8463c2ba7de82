import ms from 'ms';
import type { WatchEvent } from '../../../chat/watch.ts';
import type { Context } from '../../../cli/context.ts';
import type { Message, SessionRef } from '../../../contract/messages.ts';
import { RateLimitError } from '../../../errors.ts';
import { SERIES, type StreamEvent, type TonedText } from '../../../output/command-result.ts';
import { describeError } from '../../../output/error-text.ts';
import { stringifyJson } from '../../../output/json.ts';
import { sanitizeLine, sanitizeText } from '../../../output/sanitize.ts';

interface Label {
  readonly label: string | undefined;
  readonly colorOf: ColorOf;
  readonly showTimestamp: boolean;
}

export type ColorOf = (label: string) => (typeof SERIES)[number] | undefined;

/** The sanitized text of a message, or its JSON if it has none. */
export function readableText({ text, raw }: Message): string {
  return sanitizeText(text ?? stringifyJson(raw));
}

/** Indents the continuation lines of a text, so that none looks like another message. */
export function hangingText(text: string): string {
  return text.replace(/\n+$/, '').replaceAll('\n', '\n  ');
}

/** A time of the service in the time zone of this machine: `2026-01-31 09:30:00`; unchanged if it is no time. */
function toLocalTime(text: string): string {
  const time = new Date(text);
  // Sweden writes dates as ISO 8601 does.
  return Number.isNaN(time.getTime()) ? sanitizeLine(text) : time.toLocaleString('sv-SE');
}

/** Returns what gives each session a color of its own, as long as there are enough. */
export function sessionColors(): ColorOf {
  const colors = new Map<string, ReturnType<ColorOf>>();
  return (label) => {
    if (!colors.has(label)) colors.set(label, SERIES[colors.size % SERIES.length]);
    return colors.get(label);
  };
}

/** Formats a message for people. */
export function formatMessageLines(
  message: Message,
  { label, colorOf, showTimestamp }: Label,
): Exclude<TonedText, string> {
  const timestamp = showTimestamp ? `${toLocalTime(message.created_at ?? '-')} ` : '';
  const name = label === undefined ? '' : `[${sanitizeLine(label)}] `;
  const tone = message.isReply ? 'good' : message.role === 'user' ? 'dim' : undefined;
  return [
    { text: timestamp, tone: 'dim' },
    { text: name, tone: colorOf(name) },
    { text: sanitizeLine(message.role), tone },
    { text: `: ${hangingText(readableText(message))}\n` },
  ];
}

/** A message as JSON output shows it. */
export function toMessageJson({ source_id, session_id }: SessionRef, message: Message) {
  const { message_id, role, text, created_at, raw } = message;
  return { message_id, session_id, source_id, role, text, created_at, raw };
}

/** A message as `chat tail` writes it. */
export function toStreamEvent(ref: SessionRef, message: Message, options: Label): StreamEvent {
  const { created_at, message_id, role, text, raw } = message;
  return {
    json: toMessageJson(ref, message),
    cells: [created_at, ref.session_id, message_id, role, text ?? stringifyJson(raw)],
    text: formatMessageLines(message, options),
  };
}

/** An event as a notice for people, not sanitized; undefined for one that says nothing to them. */
export function formatNotice(event: WatchEvent): string | undefined {
  switch (event.kind) {
    case 'outage': {
      const text = describeError(event.error).replace(/\.?$/, '.');
      if (event.error instanceof RateLimitError) return `${text} Continuing in ${ms(event.pauseMs)}.`;
      return `connection lost: ${text} Retrying${event.pauseMs < 10_000 ? '' : ` in ${ms(event.pauseMs)}`}.`;
    }
    case 'recovered':
      return `connection restored after ${ms(event.outageMs)}; ${event.missed} message${event.missed === 1 ? '' : 's'} arrived meanwhile.`;
    case 'unknown-session':
      return `the service does not know session ${event.ref.session_id} yet; it is treated as empty.`;
    case 'gap':
      return `the history of ${event.ref.session_id} may be incomplete: ${event.evidence}.`;
    case 'unreadable':
      return `session ${event.ref.session_id} of source ${event.ref.source_id} cannot be read: ${describeError(event.error)}`;
    default:
      return undefined;
  }
}

/** Writes the notice of an event to stderr, if it has one. --quiet hides the one that is no warning. */
export async function writeNotice(context: Pick<Context, 'warn' | 'notice'>, event: WatchEvent): Promise<void> {
  const text = formatNotice(event);
  if (text === undefined) return;
  await (event.kind === 'unknown-session' ? context.notice(`note: ${text}`) : context.warn(text));
}
