import { CredentialsError, NotFoundError, type PartnerctlError, RefusedError, ServiceError } from '../errors.ts';
import { ATTEMPT_TIMEOUT_MS, type AttemptDeps, runAttempt } from './attempt.ts';
import type { HttpResponse, TransportResult } from './transport.ts';

export interface FetchOptions extends AttemptDeps {
  readonly userAgent: string;
  readonly random: () => number;
  /** The command's deadline in milliseconds since the epoch. */
  readonly deadline: number | undefined;
}

const HEADERS_TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 5;
const MAX_BYTES = 10 * 1024 * 1024;

/**
 * Downloads a public document (spec §9). Sends no token, and follows only redirects on the same origin.
 * @param options.transport sends to the origin of the URL
 * @throws CredentialsError, NotFoundError, RefusedError, or ServiceError; InterruptedError
 */
export async function fetchDocument(url: URL, options: FetchOptions): Promise<string> {
  const deadline = options.deadline ?? options.clock.now() + ATTEMPT_TIMEOUT_MS;
  let target = url;
  for (let number = 1; ; number += 1) {
    const result = await attempt(target, number, deadline, options);
    if (result.kind === 'failure') throw downloadError(result, target);
    if (result.status >= 200 && result.status < 300) return result.body;
    const next = number > MAX_REDIRECTS ? undefined : redirectTarget(result, target);
    if (next === undefined) throw downloadError(result, target);
    target = next;
  }
}

function attempt(url: URL, number: number, deadline: number, options: FetchOptions): Promise<TransportResult> {
  const requestId = `req-${Math.floor(options.random() * 2 ** 48).toString(16)}-${number}`;
  return runAttempt(options, {
    number,
    url: url.origin + url.pathname,
    request: {
      method: 'GET',
      path: url.pathname + url.search,
      requestId,
      body: undefined,
      freshConnection: false,
      headersTimeoutMs: HEADERS_TIMEOUT_MS,
      maxBodyBytes: MAX_BYTES,
      headers: {
        accept: 'application/json, application/yaml, application/vnd.oai.openapi, text/yaml, */*;q=0.1',
        'user-agent': options.userAgent,
        'x-request-id': requestId,
      },
    },
    safety: 'safe',
    deadline,
  });
}

/** Returns where a redirect leads, if that is on the same origin. */
function redirectTarget({ status, headers: { location } }: HttpResponse, url: URL): URL | undefined {
  if (status < 300 || status > 399 || !location || !URL.canParse(location, url.href)) return undefined;
  const target = new URL(location, url);
  return target.origin === url.origin ? target : undefined;
}

function downloadError(result: TransportResult, { origin, pathname }: URL): PartnerctlError {
  const message = `Cannot download ${origin}${pathname}.`;
  if (result.kind === 'failure') {
    const { message: why, isTransient, cause } = result;
    const hint = 'Check the address and the network, or allow more time with --timeout. -v shows every attempt.';
    return new ServiceError(message, { why, hint, permanent: !isTransient, cause });
  }
  const { status, headers } = result;
  const info = {
    why: `The response has the status ${status}${headers.location ? ` and redirects to ${headers.location}` : ''}.`,
    hint: 'Check the address, or download the document yourself, and import the file: no token is sent for it.',
    status,
  };
  if (status === 401 || status === 403) return new CredentialsError(message, info);
  if (status === 404 || status === 410) return new NotFoundError(message, info);
  const isService = status < 400 || status >= 500 || status === 429;
  return isService ? new ServiceError(message, info) : new RefusedError(message, info);
}
