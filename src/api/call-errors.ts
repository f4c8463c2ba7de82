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
import { addressHint, isMethodMissing, parameterHint } from './refusal-hints.ts';
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
 * OutcomeUnknownError with the failure as its cause; for any other call, the failure itself. The caller adds a hint.
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
 * Returns the error for an unsuccessful response (spec §7), with the service's own message, status, code, and request
 * id. Any 4xx except 408 proves that nothing was done. After a 408, a 5xx, or a 3xx that does more than change the
 * trailing slash, the outcome is indeterminate unless the response arrived before the whole request was sent: a gateway
 * may say 408 when it did not get a response in time.
 */
export function responseError(response: HttpResponse, call: FailedCall): PartnerctlError {
  const { status, headers, sent } = response;
  const { operation, tokenOrigin, baseUrl } = call;
  // Redact before quoting: a truncated secret would not be recognized.
  const body = call.redact(response.body);
  const said = readErrorBody(body, headers['content-type']);
  const info = responseInfo(response, said, call);
  const hinted = (hint: string | undefined): ErrorInfo => ({ ...info, hint });
  const token = tokenOrigin ? `token from ${tokenOrigin.from}` : 'token';
  if (status < 300) {
    // A 2xx sent before the body was received does not mean success.
    const why = `It said: ${body.slice(0, 200)}`;
    const text = `The service responded with ${status} before it had received the request.`;
    return new ServiceError(text, { ...info, why, permanent: true });
  }
  if (status < 400) return redirectError(response, info, call);
  if (status >= 500 || status === 408) {
    const hint = info.retryAt
      ? `Run the command again after ${info.retryAt}.`
      : "Run the command again later. If the failure persists, report the request id to the service's support.";
    const error = new ServiceError(`The service failed${afterAttempts(call)} (${status}).`, hinted(hint));
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
    case 404:
      return notFoundError(info, call);
    case 405:
      return new RefusedError(
        'The service does not take this method here (405).',
        hinted(addressHint(call, headers.allow ?? '')),
      );
    case 413:
      return new RefusedError(
        'The request is larger than the service accepts (413).',
        hinted('Send a smaller file or message.'),
      );
    case 429: {
      const later = info.retryAt ? `Run the command again after ${info.retryAt}` : 'Run the command again later';
      // A `once` call is not retried after a 429, however much time there is.
      const isOnce = operation.safety === 'once';
      return new RateLimitError(
        `The rate limit of the service is reached${afterAttempts(call)} (429).`,
        hinted(isOnce ? `${later}. The call was not processed.` : `${later}, or allow more time with --timeout.`),
      );
    }
    default:
      return new RefusedError(`The service refused the call (${status}).`, hinted(parameterHint(call, said)));
  }
}

function responseInfo(
  { status, headers }: HttpResponse,
  { code, message, fields, fromGateway }: ErrorBody,
  call: FailedCall,
): ErrorInfo {
  // Some services repeat a field's error as the top-level message.
  const isRepeated = fields.some((field) => message?.includes(field.message));
  const complaints = fields.map((field) => (field.path === '' ? field.message : `${field.path}: ${field.message}`));
  const why = [isRepeated ? undefined : message, ...complaints].filter(Boolean).join('\n');
  return {
    why: why === '' ? undefined : why,
    status,
    code,
    requestId: headers['x-request-id'] ?? call.requestId,
    // Gateways that fail do not say which methods there are.
    fromGateway: status === 405 && isMethodMissing(call.method, headers.allow) ? undefined : fromGateway,
    retryAt: call.retryAt === undefined ? undefined : new Date(call.retryAt).toISOString(),
    details: {
      operation: call.operation.name,
      message: message ?? null,
      ...(fields.length > 0 && { fields }),
      attempts: call.attempts,
    },
  };
}

function notFoundError(info: ErrorInfo, call: FailedCall): NotFoundError {
  // A code that says what is unknown also says that the path exists.
  const [, resource] = /^(space|agent|source|session|message|template)_not_found$/.exec(info.code ?? '') ?? [];
  const hint = resource
    ? `Check the id, and that it belongs to this service: ${call.baseUrl}.`
    : `Check the id and the base URL ${call.baseUrl}. ${addressHint(call, undefined)}`;
  return new NotFoundError(`The service does not know this ${resource ?? 'resource'} (404).`, { ...info, hint });
}

/** A write that is redirected to its own path was not processed. Any other redirect may lead to what it created. */
function redirectError(response: HttpResponse, info: ErrorInfo, call: FailedCall): PartnerctlError {
  const { status, headers, sent } = response;
  const { operation, baseUrl } = call;
  const slash = readSlashRedirect(response, call.url);
  const isProof = sent !== 'all' || (slash !== undefined && status !== 302);
  const fix = redirectFix(slash, operation);
  const error = new ServiceError(`The service redirects to ${headers.location ?? 'an unnamed address'} (${status}).`, {
    ...info,
    // After a write of unknown outcome, the caller says what to do next.
    ...(operation.safety === 'once' && !isProof && { why: fix }),
    permanent: true,
    hint: `The tool never follows redirects, so that the token stays with ${baseUrl}. ${fix}`,
  });
  return isProof ? error : toIndeterminate(error, operation);
}

function redirectFix(slash: 'always' | 'never' | undefined, { leaf }: Operation | RawOperation): string {
  if (leaf === undefined) return 'Check the path, and its trailing slash.';
  return slash === undefined
    ? `Check the base URL. ${describeFix({ leaf, value: '<METHOD> <path>' })}`
    : describeFix({ leaf: 'paths.trailing_slash', value: slash });
}

/**
 * Returns the error for a call without a complete response. If a `once` request may have been sent in full, the outcome
 * is indeterminate.
 */
export function networkError(failure: TransportFailure, call: FailedCall): PartnerctlError {
  const { sent, message, code, status, isTransient, cause } = failure;
  const isLate = call.isOutOfTime || cause instanceof TimeLimitReached;
  const isProxy = code?.startsWith('PROXY_') === true && !isLate;
  const text = isProxy ? `${message.charAt(0).toUpperCase()}${message.slice(1)}.` : describeExtent(sent, isLate, call);
  const error = new ServiceError(text, {
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

function hintFor({ code, message, isTransient }: TransportFailure, { baseUrl }: FailedCall): string {
  if (code?.startsWith('BODY_')) return `The tool cannot read this response. Check the base URL ${baseUrl}.`;
  if (code?.startsWith('PROXY_')) {
    return message.endsWith('answered 407')
      ? 'Put the name and password of the proxy into its address: http://name:password@host:port'
      : `Check the proxy, or add ${new URL(baseUrl).hostname} to NO_PROXY.`;
  }
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return `Check the scheme and the port of the base URL ${baseUrl}.`;
  return isTransient
    ? `Check the base URL ${baseUrl} and the network. -v shows every attempt.`
    : "Check the service's certificate. NODE_EXTRA_CA_CERTS names a file with further certificate authorities.";
}

function afterAttempts({ attempts }: FailedCall): string {
  return attempts <= 1 ? '' : ` after ${attempts} attempts`;
}
