import {
  CredentialsError,
  InputError,
  NotFoundError,
  type PartnerctlError,
  RefusedError,
  ServiceError,
} from '../errors.ts';
import { ATTEMPT_TIMEOUT_MS, type AttemptDeps, runAttempt } from './attempt.ts';
import type { HttpResponse, TransportFailure, TransportResult } from './transport.ts';
import { TimeLimitReached, UnreadableBody } from './transport-failure.ts';

export interface FetchOptions extends AttemptDeps {
  readonly userAgent: string;
  readonly random: () => number;
  /** The command's deadline in milliseconds since the epoch. */
  readonly deadline: number | undefined;
}

const HEADERS_TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 5;
const MAX_MIB = 10;

/**
 * Downloads a public document (spec §9). Sends no token, and follows only redirects on the same origin.
 * @param options.transport sends to the origin of the URL
 * @throws InputError if it is larger than 10 MiB; CredentialsError, NotFoundError, RefusedError, or ServiceError by the
 *   status; InterruptedError
 */
export async function fetchDocument(url: URL, options: FetchOptions): Promise<string> {
  const deadline = options.deadline ?? options.clock.now() + ATTEMPT_TIMEOUT_MS;
  let target = url;
  for (let number = 1; ; number += 1) {
    const result = await attempt(target, number, deadline, options);
    if (result.kind === 'failure') throw failureError(result, target);
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
      maxBodyBytes: MAX_MIB * 1024 * 1024,
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

function failureError({ message, cause, isTransient }: TransportFailure, { origin, pathname }: URL): PartnerctlError {
  if (cause instanceof UnreadableBody && cause.code === 'BODY_TOO_LARGE') {
    return new InputError(`The document is larger than ${MAX_MIB} MiB.`, {
      hint: 'Nothing was changed. Check that the address is that of an OpenAPI document.',
      cause,
    });
  }
  return new ServiceError(`Cannot download ${origin}${pathname}.`, {
    why: message,
    hint:
      cause instanceof TimeLimitReached
        ? 'Allow more time with --timeout.'
        : 'Check the address and the network. -v shows every attempt.',
    permanent: !isTransient,
    cause,
  });
}

function downloadError({ status, headers }: HttpResponse, { origin, pathname }: URL): PartnerctlError {
  const message = `Cannot download ${origin}${pathname} (${status}).`;
  if (status >= 300 && status < 400) {
    return new ServiceError(message, {
      why: `It redirects to ${headers.location ?? 'an unnamed address'}, and redirects to other services are not followed.`,
      hint: 'If you trust that address, import it.',
      status,
    });
  }
  if (status === 401 || status === 403) {
    const hint = 'Download the document yourself, and import the file: no token is sent for it.';
    return new CredentialsError(message, { hint, status });
  }
  if (status === 404 || status === 410) {
    return new NotFoundError(message, { hint: 'Check the address of the document.', status });
  }
  if (status >= 500 || status === 429) {
    return new ServiceError(message, { hint: 'Run the command again later.', status });
  }
  return new RefusedError(message, { hint: 'Check the address of the document.', status });
}
