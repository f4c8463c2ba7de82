import { formatDuration } from '../clock.ts';
import { describeFix } from '../contract/assumptions.ts';
import { readErrorBody } from '../contract/error-body.ts';
import { normalizeName } from '../contract/field-names.ts';
import type { Operation, RawOperation } from '../contract/operations.ts';
import { isPathRefused, readSlashRedirect } from '../contract/slash-redirect.ts';
import {
  BalanceError,
  CredentialsError,
  type ErrorInfo,
  FIX_COMPLAINT,
  NotFoundError,
  type PartnerctlError,
  RateLimitError,
  RefusedError,
  ServiceError,
} from '../errors.ts';
import { toIndeterminate } from './api-response.ts';
import { addressHint, isMethodMissing, parameterHint, type RefusedRequest } from './refusal-hints.ts';
import { type HttpResponse, TimeLimitReached, type TransportFailure } from './transport.ts';

/** Where the token comes from, for messages. */
export interface TokenOrigin {
  /** `PARTNER_TOKEN`, `--token-file token.txt`, `profile "acme"`. */
  readonly from: string;
  /** How to provide a valid one. */
  readonly fixHint: string;
}

/** The call's details for error messages. */
export interface CallContext {
  readonly operation: Operation | RawOperation;
  readonly request: RefusedRequest;
  /** Path and query of the request. */
  readonly path: string;
  /** The configured base URL. */
  readonly baseUrl: string;
  readonly tokenOrigin: TokenOrigin | undefined;
  /** Undefined if nothing was sent. */
  readonly requestId: string | undefined;
  readonly attempts: number;
  /** Whether the deadline, not the number of attempts, ended the call. */
  readonly isOutOfTime: boolean;
  /** The value of --timeout in milliseconds, if that set the deadline. */
  readonly timeoutMs: number | undefined;
  /** The time in milliseconds before which a retry is pointless. */
  readonly retryAt: number | undefined;
}

const QUOTED_CHARACTERS = 200;

const RESOURCES = new Set(['space', 'agent', 'source', 'session', 'message', 'template']);

/** Returns what a code such as `source_not_found` or `NoSuchAgent` says is unknown. It means that the path exists. */
function unknownResource(code: string): string | undefined {
  const name = normalizeName(code);
  const resource = name.replace(/^nosuch|^unknown|notfound$|doesnotexist$/, '');
  return resource !== name && RESOURCES.has(resource) ? resource : undefined;
}

function notFoundError(info: ErrorInfo, call: CallContext): NotFoundError {
  const resource = unknownResource(info.code ?? '');
  if (resource !== undefined) {
    const hint = `Check the id, and that it belongs to this service: ${call.baseUrl}.`;
    return new NotFoundError(`The service does not know this ${resource} (404).`, { ...info, hint });
  }
  return new NotFoundError('The service does not know this resource (404).', {
    ...info,
    hint: `Check the id and the base URL ${call.baseUrl}. ${addressHint(call.request, undefined)}`,
  });
}

/**
 * Returns the error for an unsuccessful response (spec §7), with the service's own message, status, code, and request
 * id. A 4xx proves that nothing was done. This includes 408, which means that the service never received the whole
 * request. After a 5xx, or a 3xx that does more than change the trailing slash, the outcome is indeterminate unless the
 * response arrived before the whole request was sent.
 * @param response with secrets already redacted from its body
 */
export function responseError(response: HttpResponse, call: CallContext): PartnerctlError {
  const info = responseInfo(response, call);
  const { status } = response;
  if (status < 300) return prematureError(response, info);
  if (status < 400 || status >= 500) {
    const error = status < 400 ? redirectError(response, info, call) : serverError(status, info, call);
    const isProof = response.sent !== 'all' || isPathRefused(response, addressOf(call));
    return isProof ? error : toIndeterminate(error, call.operation);
  }
  switch (status) {
    case 401:
      return tokenError(info, call);
    case 402:
      return balanceError(info, call);
    case 403:
      return new CredentialsError(`The ${nameToken(call)} is not allowed to do this (403).`, {
        ...info,
        hint: "Check the token's scopes, and that allowed_ip_cidrs includes this machine's public address.",
      });
    case 404:
      return notFoundError(info, call);
    case 405:
      return new RefusedError('The service does not take this method here (405).', {
        ...info,
        hint: addressHint(call.request, response.headers.allow, true),
      });
    case 408:
      return serverError(status, info, call);
    case 413:
      return new RefusedError('The request is larger than the service accepts (413).', {
        ...info,
        hint: 'Send a smaller file or message.',
      });
    case 429:
      return rateLimitError(info, call);
    default:
      return refusedError(response, info, call);
  }
}

function responseInfo(response: HttpResponse, call: CallContext): ErrorInfo {
  const { code, message, fields, fromGateway } = readErrorBody(
    response.body,
    response.headers['content-type'],
    call.request.contract,
  );
  // Some services repeat a field's error as the top-level message.
  const isRepeated = fields.some((field) => message?.includes(field.message));
  const complaints = fields.map((field) => (field.path === '' ? field.message : `${field.path}: ${field.message}`));
  const isMissing = response.status === 405 && isMethodMissing(call.request.method, response.headers.allow);
  const why = [isRepeated ? undefined : message, ...complaints].filter(Boolean).join('\n');
  return {
    why: why === '' ? undefined : why,
    status: response.status,
    code,
    requestId: response.headers['x-request-id'] ?? call.requestId,
    fromGateway: isMissing ? undefined : fromGateway,
    retryAt: call.retryAt === undefined ? undefined : new Date(call.retryAt).toISOString(),
    details: {
      operation: call.operation.name,
      message: message ?? null,
      ...(fields.length > 0 && { fields }),
      attempts: call.attempts,
    },
  };
}

function nameToken({ tokenOrigin }: CallContext): string {
  return tokenOrigin ? `token from ${tokenOrigin.from}` : 'token';
}

function tokenError(info: ErrorInfo, call: CallContext): PartnerctlError {
  return new CredentialsError(`The service rejected the ${nameToken(call)} (401).`, {
    ...info,
    hint: call.tokenOrigin?.fixHint ?? `Use a token that is valid for ${call.baseUrl}.`,
  });
}

/** After a retry, the last response does not show whether an earlier attempt was processed. */
function balanceError(info: ErrorInfo, { operation, attempts }: CallContext): PartnerctlError {
  const isSaid = info.why?.includes('not processed') || (operation.safety === 'idempotent' && attempts > 1);
  const outcome = isSaid ? '' : ' The call was not processed.';
  return new BalanceError("The organization's pay-as-you-go balance is too low (402).", {
    ...info,
    hint: `Top up the balance (the minimum is 1 USD), and run the command again.${outcome}`,
  });
}

function rateLimitError(info: ErrorInfo, call: CallContext): PartnerctlError {
  const later = info.retryAt ? `Run the command again after ${info.retryAt}` : 'Run the command again later';
  // A `once` call is not retried after a 429, however much time there is.
  const hint =
    call.operation.safety === 'once'
      ? `${later}. The call was not processed.`
      : `${later}, or allow more time with --timeout.`;
  return new RateLimitError(`The rate limit of the service is reached${afterAttempts(call)} (429).`, { ...info, hint });
}

function serverError(status: number, info: ErrorInfo, call: CallContext): PartnerctlError {
  return new ServiceError(`The service failed${afterAttempts(call)} (${status}).`, {
    ...info,
    hint: info.retryAt
      ? `Run the command again after ${info.retryAt}.`
      : "Run the command again later. If the failure persists, report the request id to the service's support.",
  });
}

/** A 2xx sent before the body was received does not mean success. */
function prematureError({ status, body }: HttpResponse, info: ErrorInfo): PartnerctlError {
  return new ServiceError(`The service responded with ${status} before it had received the request.`, {
    ...info,
    why: `It said: ${body.slice(0, QUOTED_CHARACTERS)}`,
    hint: 'The response cannot be about this request.',
    permanent: true,
  });
}

function refusedError(response: HttpResponse, info: ErrorInfo, { request }: CallContext): PartnerctlError {
  const message = `The service refused the call (${response.status}).`;
  const body = readErrorBody(response.body, response.headers['content-type'], request.contract);
  const contractHint = parameterHint(request, body);
  const hint = contractHint === undefined ? FIX_COMPLAINT : `${FIX_COMPLAINT}\n${contractHint}`;
  return new RefusedError(message, { ...info, hint });
}

function addressOf({ baseUrl, path }: CallContext): string {
  return new URL(baseUrl).origin + path;
}

function redirectError(response: HttpResponse, info: ErrorInfo, call: CallContext): PartnerctlError {
  const { status, headers } = response;
  const slash = readSlashRedirect(response, addressOf(call));
  const never = `The tool never follows redirects, so that the token stays with ${call.baseUrl}.`;
  const fix = redirectFix(slash, call);
  return new ServiceError(`The service redirects to ${headers.location ?? 'an unnamed address'} (${status}).`, {
    ...info,
    // After a write of unknown outcome, the caller decides what to do next.
    ...(call.operation.safety === 'once' && !isPathRefused(response, addressOf(call)) && { why: fix }),
    permanent: true,
    hint: `${never} ${fix}`,
  });
}

function redirectFix(slash: 'always' | 'never' | undefined, { operation }: CallContext): string {
  const { leaf } = operation;
  if (leaf === undefined) {
    return slash === undefined
      ? 'Check the path.'
      : `Give the path ${slash === 'always' ? 'with' : 'without'} its trailing slash.`;
  }
  if (slash) return describeFix({ leaf: 'paths.trailing_slash', value: slash });
  return `Check the base URL. ${describeFix({ leaf, value: '<METHOD> <path>' })}`;
}

/**
 * Returns the error for a call without a complete response. If a `once` request may have been sent in full, the outcome
 * is indeterminate.
 */
export function networkError(failure: TransportFailure, call: CallContext): PartnerctlError {
  const isLate = call.isOutOfTime || failure.cause instanceof TimeLimitReached;
  const isExplained = failure.cause instanceof TimeLimitReached || (isProxyFailure(failure) && !isLate);
  const error = new ServiceError(describeFailure(failure, call, isLate), {
    why: isExplained ? undefined : failure.message,
    status: failure.status,
    requestId: call.requestId,
    hint: isLate && failure.isTransient ? 'Allow more time with --timeout.' : hintFor(failure, call),
    permanent: !failure.isTransient,
    details: {
      operation: call.operation.name,
      reason: failure.code ?? null,
      left: failure.sent === 'all',
      attempts: call.attempts,
    },
    cause: failure.cause,
  });
  return failure.sent === 'all' ? toIndeterminate(error, call.operation) : error;
}

function isProxyFailure({ code }: TransportFailure): boolean {
  return code?.startsWith('PROXY_') === true;
}

function describeFailure(failure: TransportFailure, call: CallContext, isLate: boolean): string {
  const { sent, message } = failure;
  if (isProxyFailure(failure) && !isLate) return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  const limit = call.timeoutMs === undefined ? 'in time' : `within ${formatDuration(call.timeoutMs)} (--timeout)`;
  const extent = isLate ? ` ${limit}` : afterAttempts(call);
  if (sent === 'nothing') return `Could not reach ${call.baseUrl}${extent}.`;
  if (sent === 'part') return `Could not send the whole request to ${call.baseUrl}${extent}.`;
  return isLate ? `No response${extent}.` : `No complete response from ${call.baseUrl}${extent}.`;
}

function hintFor(failure: TransportFailure, { baseUrl }: CallContext): string {
  const { code, message, isTransient } = failure;
  if (code?.startsWith('BODY_')) return `The tool cannot read this response. Check the base URL ${baseUrl}.`;
  if (isProxyFailure(failure)) {
    return message.endsWith('answered 407')
      ? 'Put the name and password of the proxy into its address: http://name:password@host:port'
      : `Check the proxy, or add ${new URL(baseUrl).hostname} to NO_PROXY.`;
  }
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return `Check the scheme and the port of the base URL ${baseUrl}.`;
  if (!isTransient) {
    return "Check the service's certificate. NODE_EXTRA_CA_CERTS names a file with further certificate authorities.";
  }
  return `Check the base URL ${baseUrl} and the network. -v shows every attempt.`;
}

function afterAttempts({ attempts }: CallContext): string {
  return attempts <= 1 ? '' : ` after ${attempts} attempts`;
}
