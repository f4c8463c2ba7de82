import { type NewMessage, postMessage, type SentMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import type { TextSource } from '../cli/input.ts';
import { shellCommand } from '../cli/shell-command.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import { isJsonObject } from '../contract/json.ts';
import { EmptyResponseError, PartnerctlError, withHint } from '../errors.ts';
import { sanitizeText } from '../output/sanitize.ts';
import type { RecordedSend } from './recorded-send.ts';

/** A message to send. */
interface Sending extends Omit<NewMessage, 'external_message_id'> {
  readonly send: RecordedSend;
}

type SendDeps = Pick<Context, 'notice' | 'clock' | 'abortSignal' | 'progress'>;

/** What to do if the service does not know a source. */
export const UNKNOWN_SOURCE_HINT =
  'Get the source_id of an agent with: partnerctl chat setup <space> <agent> --query source_id';

/** Longer texts are not quoted in a command. */
const MAX_QUOTED_LENGTH = 1_000;

/** Whether a text survives being shown in an error and pasted into a shell. */
function isPastable(text: string): boolean {
  return text.length <= MAX_QUOTED_LENGTH && sanitizeText(text) === text && !text.includes('\ufffd');
}

/**
 * The command that sends a message again under its external_message_id, so that it is registered once (spec §4.3).
 * @param source where the text came from; an argument by default
 * @param moreFlags flags of the original command besides those that identify the message
 */
export function resendCommand(
  { source_id, session_id, external_message_id, text }: NewMessage,
  flags: GlobalFlags,
  { source, moreFlags = [] }: { readonly source?: TextSource; readonly moreFlags?: readonly string[] } = {},
): string {
  const ids = ['--source', source_id, '--session', session_id, '--external-id', external_message_id];
  const args = ['chat', 'send', ...ids, ...moreFlags];
  if (source?.from === 'file') return shellCommand([...args, '--file', source.path], flags);
  if (source?.from === 'stdin') return `${shellCommand(args, flags, ['-'])}\n(with the same text on standard input)`;
  return isPastable(text) ? shellCommand(args, flags, [text]) : `${shellCommand(args, flags)} … (with the same text)`;
}

/** Whether the failure of a send proves that the service registered nothing, which an earlier attempt could have changed. */
export function isRefused({ info }: PartnerctlError): boolean {
  const { attempts, left } = isJsonObject(info.details) ? info.details : {};
  if (attempts !== 1 || info.fromGateway) return false;
  return left === false || (info.status !== undefined && info.status >= 400 && info.status < 500);
}

/**
 * Registers a message, and looks up its message_id if the response does not tell it.
 * @throws ShapeError if the response has a body, and neither that nor the history tells the message_id
 */
export async function registerMessage(context: SendDeps, http: Http, message: NewMessage): Promise<SentMessage> {
  const sent = await postMessage(http, message);
  if (!sent.missingIdError) return sent;
  const { findMessageId } = await import('./find-message.ts');
  const message_id = await findMessageId(context, http, message);
  if (message_id !== undefined) return { ...sent, message_id };
  if (!(sent.missingIdError instanceof EmptyResponseError)) throw sent.missingIdError;
  await context.notice(
    `note: the message is registered, but its message_id is not known: the response is empty, and the history of the session does not show external id ${message.external_message_id}.`,
  );
  return sent;
}

/**
 * Sends a message, and notes on stderr if it was, or may have been, registered before.
 * @param resend the command that sends it again
 * @throws PartnerctlError with that command in its hint, unless the service does not know the source
 */
export async function sendMessage(
  context: SendDeps,
  http: Http,
  { send, ...message }: Sending,
  resend: string,
): Promise<SentMessage> {
  const { source_id, session_id } = message;
  const { external_message_id, repeats } = send;
  if (repeats !== undefined) {
    await context.notice(
      `note: this text was sent to session ${session_id} before, at ${repeats}, and never acknowledged. Sending it under the same external id, ${external_message_id}, so that it is registered once. To send another message: --again`,
    );
  }
  try {
    const sent = await registerMessage(context, http, { ...message, external_message_id });
    if (sent.created === false) {
      await context.notice(
        sent.wasRetried
          ? `note: a message with external id ${external_message_id} already existed when the last attempt reached the service (created: false). An earlier attempt of this command may have registered it.`
          : `note: a message with external id ${external_message_id} already exists; nothing new was registered (created: false).`,
      );
    }
    return sent;
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    const refused = isRefused(error);
    const details = { source_id, session_id, external_message_id };
    await send.fail(refused);
    const hint =
      refused && error.info.status === 404 ? UNKNOWN_SOURCE_HINT : `To send it again without duplicating it: ${resend}`;
    // The same message would be too large again.
    if (refused && error.info.status === 413) throw withHint(error, { details });
    throw withHint(error, { hint, details });
  }
}
