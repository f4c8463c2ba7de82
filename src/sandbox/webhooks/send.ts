import type { IncomingMessage } from 'node:http';

/** The rest of a response is not read. */
const MAX_RESPONSE_BYTES = 64 * 1024;

const MAX_QUOTED = 200;

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface SendOutcome {
  /** The HTTP status of the response; null without one. */
  readonly status: number | null;
  /** Why the receiver did not accept it; null if it did. */
  readonly error: string | null;
}

/** @returns the beginning of a body, as much of it as arrives */
async function readStart(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response) {
      const bytes = Buffer.from(chunk);
      chunks.push(bytes);
      length += bytes.length;
      if (length > MAX_RESPONSE_BYTES) break;
    }
  } catch {
    // Only the status matters.
  }
  return Buffer.concat(chunks).toString('utf8').trim();
}

function describeStatus(status: number, text: string): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `The receiver responded with ${status}. Redirects are not followed.`;
  const quoted = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return `The receiver responded with ${status}${quoted === '' ? '.' : `: ${quoted}`}`;
}

function describeFailure(error: unknown, host: string): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ECONNREFUSED') return `Nothing listens at ${host} (ECONNREFUSED).`;
  if (code === 'ECONNRESET') return 'The receiver closed the connection without a response (ECONNRESET).';
  return error instanceof Error ? error.message : String(error);
}

/**
 * Sends one POST on a new connection. Never rejects.
 * @param timeoutMs for the whole exchange
 * @param closing aborts it
 */
export async function sendWebhook(
  { url, headers, body }: WebhookRequest,
  { timeoutMs, closing }: { timeoutMs: number; closing: AbortSignal },
): Promise<SendOutcome> {
  const { protocol, host } = new URL(url);
  const { request: open } = protocol === 'https:' ? await import('node:https') : await import('node:http');
  const length = { 'Content-Length': String(Buffer.byteLength(body)) };
  const request = open(url, { method: 'POST', agent: false, headers: { ...headers, ...length } });
  const abort = (reason: string): void => void request.destroy(new Error(reason));
  const timer = setTimeout(() => abort(`The receiver did not respond within ${timeoutMs / 1_000} s.`), timeoutMs);
  const onClosing = (): void => abort('The sandbox was closed.');
  closing.addEventListener('abort', onClosing, { once: true });
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve);
      // A second error may follow, for example when the receiver responds before it has read the body.
      request.on('error', reject);
      // The only event after a response that switches protocols.
      request.once('close', () => reject(new Error('The receiver closed the connection without a response.')));
      request.end(body);
    });
    const { statusCode = 0 } = response;
    return { status: statusCode, error: describeStatus(statusCode, await readStart(response)) };
  } catch (error) {
    return { status: null, error: describeFailure(error, host) };
  } finally {
    clearTimeout(timer);
    closing.removeEventListener('abort', onClosing);
    request.destroy();
  }
}
