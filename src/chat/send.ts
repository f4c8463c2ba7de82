import { type NewMessage, postMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import type { Acknowledgement } from '../contract/messages.ts';
import { PartnerctlError, withHint } from '../errors.ts';
import type { TextSource } from '../platform/input.ts';
import { openPlaces } from './places.ts';
import type { ChatContext } from './session.ts';
import type { FormatCommand } from './source.ts';

/** Longer texts are not quoted in a command. */
const MAX_QUOTED_LENGTH = 1_000;

/** Whether a text survives being shown in an error and pasted into a shell: no controls, and nothing invisible. */
function isPastable(text: string): boolean {
  return text.length <= MAX_QUOTED_LENGTH && !/[\p{C}\p{Zl}\p{Zp}\ufffd]/u.test(text.replaceAll(/[\n\t]/g, ''));
}

/**
 * The command that sends a message again under its external_message_id, so that it is registered once (spec §4.3).
 * @param more flags of the original command besides those that identify the message
 */
export function resendCommand(
  toCommand: FormatCommand,
  { source_id, session_id, external_message_id, text }: NewMessage,
  origin: TextSource = { from: 'argument', text },
  more: readonly string[] = [],
): string {
  const ids = ['--source', source_id, '--session', session_id, '--external-id', external_message_id];
  const words = ['chat', 'send', ...ids, ...more];
  if (origin.from === 'file') return toCommand([...words, '--text-file', origin.path]);
  if (origin.from === 'argument' && isPastable(text)) return toCommand(words, [text]);
  return `${toCommand(words, ['-'])}\n(with the same text on standard input)`;
}

/**
 * Sends one message, and records its session, so that `chat watch` knows it.
 * @param origin where the text came from
 * @param more flags of the command that sends it again
 * @throws PartnerctlError with that command in its hint
 */
export async function sendMessage(
  context: ChatContext,
  http: Http,
  message: NewMessage,
  { origin, more }: { readonly origin: TextSource; readonly more: readonly string[] },
): Promise<Acknowledgement> {
  const places = openPlaces(context, http);
  places.check(message);
  try {
    const sent = await postMessage(http, message);
    await places.remember(message);
    return sent;
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    const { text: _, ...details } = message;
    const again = resendCommand(context.command, message, origin, more);
    const hint = `To send it again without duplicating it: ${again}`;
    throw withHint(error, { hint, details });
  }
}
