import type { IncomingMessage } from 'node:http';
import type * as v from 'valibot';
import { invalidInput, Problem } from './problem.ts';
import type { ServiceContext } from './service.ts';
import { check } from './validation.ts';

/** The default limit, in bytes. */
const MAX_JSON_BYTES = 1024 * 1024;

/** Larger or more deeply nested bodies are not logged: the admin API sends the log as JSON. */
const MAX_LOGGED_BYTES = 64 * 1024;
const MAX_LOGGED_BRACKETS = 1_000;

/**
 * Watches for a client that stops sending before the end of its body. The caller stops watching with
 * `incoming.setTimeout(0)`.
 * @param onPause gets the 408 to respond with, which closes the connection
 */
export function watchForPause(incoming: IncomingMessage, ms: number, onPause: (problem: Problem) => void): void {
  const message = `Nothing of the body arrived for ${ms} ms.`;
  incoming.setTimeout(ms, () =>
    onPause(new Problem(408, 'request_timeout', message, { headers: { Connection: 'close' } })),
  );
}

async function readAtMost(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = new Problem(413, 'body_too_large', `The body is larger than ${limit} bytes.`);
  if (Number(incoming.headers['content-length'] ?? 0) > limit) throw tooLarge;
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // Destroying the stream would close the socket that the error response is sent on.
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      const bytes = Buffer.from(chunk);
      length += bytes.length;
      if (length > limit) throw tooLarge;
      chunks.push(bytes);
    }
  } catch (error) {
    if (error === tooLarge) throw error;
    throw new Problem(400, 'incomplete_body', 'The connection ended before the body did.');
  }
  return Buffer.concat(chunks);
}

function isLoggable(text: string): boolean {
  return text.length <= MAX_LOGGED_BYTES && (text.match(/[[{]/g)?.length ?? 0) <= MAX_LOGGED_BRACKETS;
}

/** Reads a JSON body. @throws Problem 415, 413, 400, or 408 if the client pauses too long */
async function readBytes(incoming: IncomingMessage, maxBytes: number, timeoutMs: number): Promise<Buffer> {
  if (!isJson(incoming.headers['content-type'])) {
    throw new Problem(415, 'unsupported_media_type', 'The body must be sent with Content-Type: application/json.');
  }
  const paused = new Promise<never>((_, reject) => watchForPause(incoming, timeoutMs, reject));
  return Promise.race([readAtMost(incoming, maxBytes), paused]).finally(() => incoming.setTimeout(0));
}

function parseJson(bytes: Buffer): { text: string; value: unknown } {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { text, value: JSON.parse(text) };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Problem(400, 'malformed_json', `The body is not JSON: ${reason}`);
  }
}

/** Whether a content type is JSON in UTF-8. */
export function isJson(contentType: string | undefined): boolean {
  return /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(contentType ?? '');
}

/**
 * Reads a request's JSON.
 * @throws Problem 415 for another content type, 413 for too large a body, 408 for a pause, 400 for invalid JSON
 */
export async function readJson(
  incoming: IncomingMessage,
  { maxBytes, timeoutMs }: { maxBytes: number; timeoutMs: number },
): Promise<{ text: string; value: unknown }> {
  return parseJson(await readBytes(incoming, maxBytes, timeoutMs));
}

/**
 * Reads a request's JSON object and checks it.
 * @throws Problem 415 for another content type, 413 for too large a body, 408 for a pause, 400 for invalid JSON, 422 for
 * wrong fields
 */
export async function readBody<Schema extends v.GenericSchema>(
  c: ServiceContext,
  schema: Schema,
  { maxBytes = MAX_JSON_BYTES, isLogged = true } = {},
): Promise<v.InferOutput<Schema>> {
  const bytes = await readBytes(c.env.incoming, maxBytes, c.get('clientTimeoutMs'));
  await c.get('onBodyReceived')?.();
  const { text, value: received } = parseJson(bytes);
  const value = c.env.shaped?.decodeBody(received) ?? received;
  const entry = c.get('entry');
  if (entry && isLogged && isLoggable(text)) entry.body = received;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidInput([{ path: '', message: 'must be an object' }]);
  }
  const result = check(schema, value);
  if (!result.ok) throw invalidInput(result.fields);
  return result.value;
}
