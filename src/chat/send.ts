import { type NewMessage, postMessage, type SentMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { isJsonObject } from '../contract/json.ts';
import { EmptyResponseError, PartnerctlError, withHint } from '../errors.ts';
import type { TextSource } from '../platform/input.ts';
import { type ChatContext, openPlaces } from './context.ts';
import { resendCommand } from './resend-command.ts';

/** What to do if the service does not know a source. */
export const UNKNOWN_SOURCE_HINT =
  'Get the source_id of an agent with: partnerctl chat setup <space> <agent> --query source_id';

/** Whether the failure of a send proves that the service registered nothing, which an earlier attempt could have changed. */
export function isRefused({ info }: PartnerctlError): boolean {
  const { attempts, left } = isJsonObject(info.details) ? info.details : {};
  if (attempts !== 1 || info.fromGateway) return false;
  return left === false || (info.status !== undefined && info.status >= 400 && info.status < 500);
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
 * @param more flags of the command that sends it again under its external_message_id (spec §4.3)
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
    await places.remember(message).catch(async (error: unknown) => {
      if (!(error instanceof PartnerctlError)) throw error;
      await context.warn(`${error.message} \`chat watch\` does not show this session.`);
    });
    return sent;
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    const { text: _, ...details } = message;
    const refused = isRefused(error);
    // The same message would be too large again.
    if (refused && error.info.status === 413) throw withHint(error, { details });
    const isUnknownSource = refused && error.info.status === 404;
    const resend = resendCommand(context.command, message, origin, more);
    const hint = isUnknownSource ? UNKNOWN_SOURCE_HINT : `To send it again without duplicating it: ${resend}`;
    throw withHint(error, { hint, details });
  }
}
