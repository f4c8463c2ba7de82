import { isLoopback } from '../config/base-url.ts';
import { proxyFor } from '../config/proxy.ts';
import { UsageError } from '../errors.ts';
import { withTimeLimit } from '../platform/clock.ts';
import { errorCode, errorMessage } from '../platform/error-code.ts';
import type { Environment } from '../platform/io.ts';
import type { SentWebhook } from './delivery.ts';

/** The program that deliveries are forwarded to. */
export type Target = Awaited<ReturnType<typeof openTarget>>;

const TIMEOUT_MS = 30_000;

/** Headers of one connection (RFC 9110, section 7.6.1), and headers that the HTTP client sets itself. */
const HOP_BY_HOP =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-length)$/i;

/** Parses `--forward-to`. @throws UsageError unless it is an https URL, or http on this machine, without credentials */
export function parseTarget(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && (url.username !== '' || url.password !== '')) {
    throw new UsageError('--forward-to contains credentials.', { hint: 'Remove them: other users can read flags.' });
  }
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url))) return url;
  throw new UsageError(`--forward-to must be an https URL, or an http URL of this machine: ${JSON.stringify(text)}.`, {
    hint: 'Use a URL such as http://localhost:3000/webhooks',
  });
}

/** Opens the target at a URL, through the proxy of the environment. @throws UsageError for an invalid proxy */
export async function openTarget(url: URL, env: Environment) {
  const { dispatcherOpener } = await import('../api/undici.ts');
  const dispatcher = await dispatcherOpener(url.origin, proxyFor(url.href, env))();

  /**
   * Sends a delivery once: its exact bytes, and its headers except those of the connection. Follows no redirect.
   * @returns `status`: null without a response; `outcome`: what happened, as a clause without a period
   */
  async function send({ headers, body }: SentWebhook, signal: AbortSignal) {
    try {
      const { statusCode: status, body: response } = await dispatcher.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'POST',
        headers: headers.filter(([name]) => !HOP_BY_HOP.test(name)).flat(),
        body,
        signal: withTimeLimit(signal, TIMEOUT_MS),
      });
      const isAccepted = status >= 200 && status < 300;
      // Only the status matters.
      const text = await (isAccepted ? response.dump() : response.text()).catch(() => undefined);
      const [firstLine] = /\S.{0,199}/.exec(text ?? '') ?? [];
      const reason = firstLine ? `: ${JSON.stringify(firstLine)}` : '';
      return { isAccepted, status, outcome: `it responded with ${status}${reason}` };
    } catch (error) {
      // The error of a host with several addresses has no message.
      const reason = errorMessage(error) || String(errorCode(error));
      return { isAccepted: false, status: null, outcome: reason.replace(/\.$/, '') };
    }
  }
  // Ends the requests that are under way, too.
  return { send, close: () => dispatcher.destroy() };
}
