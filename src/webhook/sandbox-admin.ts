import { request } from 'node:http';
import type { Environment } from '../cli/io.ts';
import { isLoopback } from '../config/base-url.ts';
import { CredentialsError, NotFoundError, RefusedError, ServiceError, UsageError } from '../errors.ts';

/** The admin API of a sandbox. */
export interface SandboxAdmin {
  /** `http://127.0.0.1:4310/_sandbox` */
  readonly url: URL;
  readonly key: string;
}

const START_HINT =
  'Start a sandbox with `partnerctl sandbox start --webhook <url>`, and set the variables that it prints.';

/**
 * Finds the sandbox that the environment names.
 * @param baseUrl of the configured service, if there is one
 * @throws UsageError if the environment names none, or if it is not the configured service
 */
export function findSandbox(env: Environment, baseUrl: string | undefined): SandboxAdmin {
  const { PARTNER_SANDBOX_URL: address, PARTNER_SANDBOX_KEY: key } = env;
  if (!address || !key) {
    const missing = address
      ? 'PARTNER_SANDBOX_KEY is'
      : key
        ? 'PARTNER_SANDBOX_URL is'
        : 'PARTNER_SANDBOX_URL and PARTNER_SANDBOX_KEY are';
    throw new UsageError('webhook trigger works only with a sandbox.', {
      why: `${missing} not set. A real service sends webhooks when an agent completes a message.`,
      hint: START_HINT,
    });
  }
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'http:' || !isLoopback(url)) {
    throw new UsageError('PARTNER_SANDBOX_URL is not the address of a sandbox on this machine.', { hint: START_HINT });
  }
  if (baseUrl !== undefined && new URL(baseUrl).origin !== url.origin) {
    throw new UsageError(`The service ${baseUrl} is not the sandbox at ${url.origin}.`, {
      why: 'webhook trigger works only with a sandbox. Nothing was sent.',
      hint: `Set PARTNER_BASE_URL to ${url.origin}/v1, or set PARTNER_SANDBOX_URL and PARTNER_SANDBOX_KEY to the sandbox at ${baseUrl}.`,
    });
  }
  return { url, key };
}

interface AdminResponse {
  readonly status: number;
  readonly body: unknown;
}

function send(
  admin: SandboxAdmin,
  method: 'GET' | 'POST',
  path: string,
  options: { body?: unknown; signal: AbortSignal },
) {
  const { url, key } = admin;
  const json = options.body === undefined ? undefined : JSON.stringify(options.body);
  const headers = { Authorization: `Bearer ${key}`, ...(json !== undefined && { 'Content-Type': 'application/json' }) };
  return new Promise<AdminResponse>((resolve, reject) => {
    const outgoing = request(
      `${url.origin}${url.pathname}${path}`,
      { method, headers, signal: options.signal },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => {
          try {
            resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) });
          } catch (error) {
            reject(error);
          }
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(json);
  });
}

function toError({ status, body }: AdminResponse): Error {
  const error = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined;
  const message = typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : undefined;
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  const why = message ?? `It responded with ${status}.`;
  if (status === 401) {
    return new CredentialsError('The sandbox rejected the key from PARTNER_SANDBOX_KEY (401).', {
      hint: 'Set the key that the sandbox printed when it started.',
      status,
    });
  }
  if (status === 404) return new NotFoundError('The sandbox sends no webhook.', { why, status });
  if (status === 422 && code !== 'no_webhook') {
    return new UsageError('The sandbox refused the delivery.', {
      why,
      hint: 'Correct --source, --session, --text, or --to.',
      status,
    });
  }
  if (status === 422) {
    const hint =
      'Add a webhook with `partnerctl sandbox start --webhook <url>`, or send to a URL of this machine: --to <url>';
    return new UsageError('The sandbox sends no webhook.', { why, hint, status });
  }
  if (status >= 500) return new ServiceError('The sandbox failed.', { why, status });
  return new RefusedError('The sandbox refused the call.', { why, status });
}

/**
 * Calls the admin API of a sandbox once.
 * @returns the parsed JSON of a 2xx
 * @throws CredentialsError for 401, NotFoundError for 404, UsageError for 422, RefusedError for any other 4xx, ServiceError
 *   for 5xx and a sandbox that cannot be reached; the signal's reason
 */
export async function callSandbox(
  admin: SandboxAdmin,
  method: 'GET' | 'POST',
  path: string,
  options: { readonly body?: unknown; readonly signal: AbortSignal },
): Promise<unknown> {
  let response: AdminResponse;
  try {
    response = await send(admin, method, path, options);
  } catch (error) {
    options.signal.throwIfAborted();
    throw new ServiceError(`The sandbox at ${admin.url.origin} did not respond.`, {
      why: error instanceof Error ? error.message : String(error),
      hint: 'Check that it is running, and that PARTNER_SANDBOX_URL is its address.',
      cause: error,
    });
  }
  if (response.status >= 200 && response.status < 300) return response.body;
  throw toError(response);
}
