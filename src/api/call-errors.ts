import type { Contract } from '../contract/contract.ts';
import { type ErrorBody, readErrorBody } from '../contract/error-body.ts';
import type { Operation, RawOperation } from '../contract/operations.ts';
import { readSlashRedirect } from '../contract/request.ts';
import { describeFix } from '../contract/unknown-shape.ts';
import {
  BalanceError,
  CredentialsError,
  type ErrorInfo,
  NotFoundError,
  OutcomeUnknownError,
  type PartnerctlError,
  RateLimitError,
  RefusedError,
  ServiceError,
} from '../errors.ts';
import { formatDuration } from '../platform/clock.ts';
import { contractHint, refusalHint } from './refusal-hint.ts';
import type { HttpResponse, TransportFailure } from './transport.ts';
import { TimeLimitReached } from './transport-failure.ts';

/** Where the token comes from, for messages. */
export interface TokenOrigin {
  /** `PARTNER_TOKEN`, `--token-file token.txt`, `profile "acme"`. */
  readonly from: string;
  /** How to provide a valid token. */
  readonly replaceHint: string;
}

/** What is known of a call, for its response and its errors. */
export interface CallFacts {
  readonly operation: Operation | RawOperation;
  readonly method: string;
  /** Its method and path, for messages: `GET /automation/spaces/`. */
  readonly name: string;
  /** The whole address of the request. */
  readonly url: string;
  /** The configured base URL. */
  readonly baseUrl: string;
  readonly contract: Contract;
  readonly tokenOrigin: TokenOrigin | undefined;
  /** Removes secrets from a text before any of it is quoted or stored. */
  readonly redact: (text: string) => string;
  readonly attempts: number;
}

/** A call that failed. */
export interface FailedCall extends CallFacts {
  /** Undefined if nothing was sent. */
  readonly requestId: string | undefined;
  /** Whether the deadline, not the number of attempts, ended the call. */
  readonly isOutOfTime: boolean;
  /** The value of --timeout in milliseconds, if that set the deadline. */
  readonly timeoutMs: number | undefined;
  /** The time in milliseconds before which a retry is pointless. */
  readonly retryAt: number | undefined;
}

/**
 * Returns the error for a call that the service may or may not have processed: for a `once` call, an
 * OutcomeUnknownError with the failure as its cause, to which the caller adds a hint; else the failure itself.
 */
export function toIndeterminate(failure: PartnerctlError, { name, safety }: Operation | RawOperation): PartnerctlError {
  if (safety !== 'once') return failure;
  const { message, info } = failure;
  return new OutcomeUnknownError(`The outcome of ${name} is unknown.`, {
    ...info,
    why: info.why === undefined ? message : `${message}\n${info.why}`,
    hint: undefined,
    cause: failure,
  });
}

/**
 * Returns the error for an unsuccessful response (spec §7). Any 4xx except 408 proves that nothing was done. After a 408
 * (a gateway may send it), a 5xx, or a 3xx that does more than change the trailing slash, the outcome is indeterminate
 * unless the response arrived before the whole request was sent.
 */
export function responseError(response: HttpResponse, call: FailedCall): PartnerctlError {
  const { status, sent } = response;
  const { operation, tokenOrigin, baseUrl } = call;
  // Redact before quoting: a truncated secret would not be recognized.
  const body = call.redact(response.body);
  const said = readErrorBody(body, response.headers['content-type']);
  const info = responseInfo(response, said, call);
  const hinted = (hint: string | undefined): ErrorInfo => ({ ...info, hint });
  const token = tokenOrigin ? `token from ${tokenOrigin.from}` : 'token';
  if (status < 300) {
    const text = `The service responded with ${status} before it had received the request.`;
    return new ServiceError(text, { ...info, why: `It said: ${body.slice(0, 200)}`, permanent: true });
  }
  if (status < 400) return redirectError(response, info, call);
  const later = `Run the command again ${info.retryAt ? `after ${info.retryAt}` : 'later'}`;
  if (status >= 500 || status === 408) {
    const error = new ServiceError(`The service failed${afterAttempts(call)} (${status}).`, hinted(`${later}.`));
    return sent === 'all' ? toIndeterminate(error, operation) : error;
  }
  switch (status) {
    case 401:
      return new CredentialsError(
        `The service rejected the ${token} (401).`,
        hinted(tokenOrigin?.replaceHint ?? `Use a token that is valid for ${baseUrl}.`),
      );
    case 402:
      return new BalanceError(
        "The organization's pay-as-you-go balance is too low (402).",
        hinted('Top up the balance (the minimum is 1 USD), and run the command again.'),
      );
    case 403:
      return new CredentialsError(
        `The ${token} is not allowed to do this (403).`,
        hinted("Check the token's scopes, and that allowed_ip_cidrs includes this machine's public address."),
      );
    case 404: {
      // A code that says what is unknown also says that the path exists.
      const more = /[a-z]_not_found$/.test(said.code ?? '') ? undefined : contractHint(call, status);
      const hint = [`Check the id and the base URL ${baseUrl}.`, more].filter(Boolean).join('\n');
      return new NotFoundError('The service does not know this resource (404).', hinted(hint));
    }
    case 429:
      return new RateLimitError(
        `The rate limit of the service is reached${afterAttempts(call)} (429).`,
        // A `once` call is not retried after a 429, however much time there is.
        hinted(
          `${later}${operation.safety === 'once' ? '. The call was not processed.' : ', or allow more time with --timeout.'}`,
        ),
      );
    default:
      return new RefusedError(`The service refused the call (${status}).`, hinted(refusalHint(call, said, status)));
  }
}

/** Whether an Allow header names methods, and not this one. */
function isMissing(method: string, allow = ''): boolean {
  return allow !== '' && !allow.toUpperCase().split(/\W+/).includes(method);
}

function responseInfo(
  { status, headers }: HttpResponse,
  { code, message, fields, fromGateway }: ErrorBody,
  call: FailedCall,
): ErrorInfo {
  const complaints = fields.map((field) => (field.path === '' ? field.message : `${field.path}: ${field.message}`));
  return {
    why: [message, ...complaints].filter(Boolean).join('\n') || undefined,
    status,
    code,
    requestId: headers['x-request-id'] ?? call.requestId,
    // Gateways that fail do not say which methods there are, or name the one that they refuse.
    fromGateway: status === 405 && isMissing(call.method, headers.allow) ? undefined : fromGateway,
    retryAt: call.retryAt === undefined ? undefined : new Date(call.retryAt).toISOString(),
    details: {
      operation: call.operation.name,
      message: message ?? null,
      ...(fields.length > 0 && { fields }),
      attempts: call.attempts,
    },
  };
}

/** A write that is redirected to its own path was not processed. Any other redirect may lead to what it created. */
function redirectError(response: HttpResponse, info: ErrorInfo, call: FailedCall): PartnerctlError {
  const { status, headers, sent } = response;
  const { operation, baseUrl } = call;
  const { leaf } = operation;
  const slash = readSlashRedirect(response, call.url);
  const setting =
    leaf && (slash ? { leaf: 'paths.trailing_slash' as const, value: slash } : { leaf, value: '<METHOD> <path>' });
  const fix = `Check the base URL. ${setting ? describeFix(setting) : 'Check the path, and its trailing slash.'}`;
  const isUnknown = operation.safety === 'once' && sent === 'all' && (slash === undefined || status === 302);
  const error = new ServiceError(`The service redirects to ${headers.location ?? 'an unnamed address'} (${status}).`, {
    ...info,
    // After a write of unknown outcome, the caller says what to do next.
    ...(isUnknown && { why: fix }),
    permanent: true,
    hint: `The tool never follows redirects, so that the token stays with ${baseUrl}. ${fix}`,
  });
  return isUnknown ? toIndeterminate(error, operation) : error;
}

/**
 * Returns the error for a call without a complete response. If a `once` request may have been sent in full, the outcome
 * is indeterminate.
 */
export function networkError(failure: TransportFailure, call: FailedCall): PartnerctlError {
  const { sent, message, code, status, isTransient, cause } = failure;
  const isLate = call.isOutOfTime || cause instanceof TimeLimitReached;
  const isProxy = code?.startsWith('PROXY_') && !isLate;
  const error = new ServiceError(isProxy ? `${message}.` : describeExtent(sent, isLate, call), {
    why: isProxy || cause instanceof TimeLimitReached ? undefined : message,
    status,
    requestId: call.requestId,
    hint: isLate && isTransient ? 'Allow more time with --timeout.' : hintFor(failure, call),
    permanent: !isTransient,
    details: { operation: call.operation.name, reason: code ?? null, left: sent === 'all', attempts: call.attempts },
    cause,
  });
  return sent === 'all' ? toIndeterminate(error, call.operation) : error;
}

function describeExtent(sent: TransportFailure['sent'], isLate: boolean, call: FailedCall): string {
  const limit = call.timeoutMs === undefined ? 'in time' : `within ${formatDuration(call.timeoutMs)} (--timeout)`;
  const extent = isLate ? ` ${limit}` : afterAttempts(call);
  if (sent === 'nothing') return `Could not reach ${call.baseUrl}${extent}.`;
  if (sent === 'part') return `Could not send the whole request to ${call.baseUrl}${extent}.`;
  return isLate ? `No response${extent}.` : `No complete response from ${call.baseUrl}${extent}.`;
}

function hintFor({ code, isTransient }: TransportFailure, { baseUrl }: FailedCall): string {
  if (code?.startsWith('PROXY_')) {
    return `Check the proxy, or add ${new URL(baseUrl).hostname} to NO_PROXY.`;
  }
  const certificate =
    isTransient || code?.startsWith('BODY_')
      ? ''
      : ', and the certificate: NODE_EXTRA_CA_CERTS names a file with further authorities';
  return `Check the base URL ${baseUrl}, its scheme and port, and the network${certificate}. -v shows every attempt.`;
}

function afterAttempts({ attempts }: FailedCall): string {
  return attempts <= 1 ? '' : ` after ${attempts} attempts`;
}
