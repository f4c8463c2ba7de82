import { type NewMessage, postMessage, type SentMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { isJsonObject } from '../contract/json.ts';
import { EmptyResponseError, PartnerctlError, withHint } from '../errors.ts';
import type { TextSource } from '../platform/input.ts';
import { type ChatContext, openPlaces } from './context.ts';
import type { FormatCommand } from './source.ts';

/** What to do if the service does not know a source. */
export const UNKNOWN_SOURCE_HINT =
  'Get the source_id of an agent with: partnerctl chat setup <space> <agent> --query source_id';

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
  if (origin.from === 'stdin') return `${toCommand(words, ['-'])}\n(with the same text on standard input)`;
  return isPastable(text) ? toCommand(words, [text]) : `${toCommand(words)} … (with the same text)`;
}

/** Whether the failure of a send proves that the service registered nothing, which an earlier attempt could have changed. */
function isRefused({ info }: PartnerctlError): boolean {
  const { attempts, left } = isJsonObject(info.details) ? info.details : {};
  if (attempts !== 1 || info.fromGateway) return false;
  return left === false || (info.status !== undefined && info.status >= 400 && info.status < 500);
}

/** Whether the service does not know the source of a message. */
export function isUnknownSource(error: PartnerctlError): boolean {
  return error.info.status === 404 && isRefused(error);
}

/**
 * Registers a message. Its message_id is null if the response is empty.
 * @throws ShapeError if the response has a body without the message_id
 */
export async function registerMessage(http: Http, message: NewMessage): Promise<SentMessage> {
  const sent = await postMessage(http, message);
  if (sent.missingIdError && !(sent.missingIdError instanceof EmptyResponseError)) throw sent.missingIdError;
  return sent;
}

/**
 * Sends one message, and records its session, so that `chat watch` knows it.
 * @param origin where the text came from
 * @param more flags of the command that sends it again
 * @throws PartnerctlError with that command in its hint, unless the service does not know the source
 */
export async function sendMessage(
  context: ChatContext,
  http: Http,
  message: NewMessage,
  { origin, more }: { readonly origin: TextSource; readonly more: readonly string[] },
): Promise<SentMessage> {
  const places = await openPlaces(context, http);
  places.check(message);
  context.progress.start('Sending the message');
  try {
    const sent = await registerMessage(http, message);
    await places.remember(message);
    return sent;
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    const { text: _, ...details } = message;
    // The same message would be too large again.
    if (isRefused(error) && error.info.status === 413) throw withHint(error, { details });
    const resend = resendCommand(context.command, message, origin, more);
    const hint = isUnknownSource(error) ? UNKNOWN_SOURCE_HINT : `To send it again without duplicating it: ${resend}`;
    throw withHint(error, { hint, details });
  }
}
