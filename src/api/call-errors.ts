import type { Contract } from '../contract/contract.ts';
import { type ErrorBody, readErrorBody } from '../contract/error-body.ts';
import { parametersOf } from '../contract/leaves.ts';
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
import { shellQuote } from '../platform/text.ts';
import type { Call } from './call.ts';
import { type HttpResponse, TimeLimitReached, type TransportFailure } from './transport.ts';

export interface CallEnd {
  readonly attempts: number;
  readonly requestId: string;
  /** Whether the deadline, not the number of attempts, ended the call. */
  readonly isOutOfTime: boolean;
  /** The value of --timeout in milliseconds, if that set the deadline. */
  readonly timeoutMs: number | undefined;
  /** The time before which a retry is pointless, in ISO 8601. */
  readonly retryAt: string | undefined;
}

/** Returns the error for a call that may have been processed: for `once`, an OutcomeUnknownError without a hint. */
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
export function responseError(response: HttpResponse, call: Call, end: CallEnd): PartnerctlError {
  const { status, sent } = response;
  const { operation, tokenOrigin, baseUrl } = call;
  // Redact before quoting: a truncated secret would not be recognized.
  const body = call.redact(response.body);
  const said = readErrorBody(body, response.headers['content-type']);
  const info = responseInfo(response, said, call, end);
  const hinted = (hint: string | undefined): ErrorInfo => ({ ...info, hint });
  const token = tokenOrigin ? `token from ${tokenOrigin.from}` : 'token';
  const needed = operation.leaf === undefined ? '' : ` (this call needs ${operation.scope})`;
  const later = `Run the command again ${end.retryAt ? `after ${end.retryAt}` : 'later'}`;
  if (status < 300) {
    const text = `The service responded with ${status} before it had received the request.`;
    return new ServiceError(text, { ...info, permanent: true });
  }
  if (status < 400) return redirectError(response, info, call);
  if (status >= 500 || status === 408) {
    const error = new ServiceError(`The service failed${afterAttempts(end)} (${status}).`, hinted(`${later}.`));
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
        hinted(`Check the token's scopes${needed}, and that allowed_ip_cidrs includes this machine's public address.`),
      );
    case 404:
      // A code that says what is unknown also says that the path exists.
      return unknownPath(call, info, /[a-z]_not_found$/.test(said.code ?? '') ? undefined : contractHint(call, status));
    case 429: {
      // A `once` call is not retried after a 429, however much time there is.
      const more =
        operation.safety === 'once' ? '. The call was not processed.' : ', or allow more time with --timeout.';
      return new RateLimitError(
        `The rate limit of the service is reached${afterAttempts(end)} (429).`,
        hinted(later + more),
      );
    }
    default:
      // FastAPI refuses an id in the path that cannot be one.
      if (said.fields.length > 0 && said.fields.every(({ path }) => path.startsWith('path.')))
        return unknownPath(call, info, undefined);
      return new RefusedError(`The service refused the call (${status}).`, hinted(refusalHint(call, said, status)));
  }
}

/** The error for a path, and so for an id in it, that the service does not know. */
function unknownPath({ name, operation, baseUrl }: Call, info: ErrorInfo, more: string | undefined): NotFoundError {
  const isOfSpace = operation.leaf === 'agents.list' || operation.leaf === 'sources.setup';
  const check = `Check the id and the base URL ${baseUrl}.${isOfSpace ? ' Write your own id of a space as ext:<id>.' : ''}`;
  const hint = [check, more].filter(Boolean).join('\n');
  return new NotFoundError(`The service does not know ${name} (${info.status}).`, { ...info, hint });
}

/** What in the contract may be wrong; nothing if the service complains only about values that it was sent. */
function refusalHint(call: Call, said: ErrorBody, status: number): string | undefined {
  const { operation, contract, wire, baseUrl } = call;
  const file = fileHint(call, said, status);
  const query = new URL(wire.path, baseUrl).searchParams;
  const isSent = (name: string) => query.has(name) || wire.text?.includes(`"${name}":`);
  const isOfValues = said.fields.length > 0 && said.fields.every(({ path }) => isSent(lastStep(path)));
  if (file !== undefined || isOfValues) return file;
  const isRead = status === 405 && operation.leaf === 'messages.history' && wire.method === 'GET';
  return [isRead && describePost(contract), contractHint(call, status)].filter(Boolean).join('\n') || undefined;
}

function responseInfo(
  { status, headers }: HttpResponse,
  { code, message, fields, fromGateway }: ErrorBody,
  { operation }: Call,
  { attempts, requestId, retryAt }: CallEnd,
): ErrorInfo {
  const complaints = fields
    .map((field) => (field.path === '' ? field.message : `${field.path}: ${field.message}`))
    .filter((complaint) => !message?.includes(complaint));
  return {
    why: [message, ...complaints].filter(Boolean).join('\n') || undefined,
    status,
    code,
    requestId: headers['x-request-id'] ?? requestId,
    fromGateway,
    retryAt,
    details: { operation: operation.name, message: message ?? null, ...(fields.length > 0 && { fields }), attempts },
  };
}

/** A write that is redirected to its own path was not processed. Any other redirect may lead to what it created. */
function redirectError(response: HttpResponse, info: ErrorInfo, call: Call): PartnerctlError {
  const { status, headers, sent } = response;
  const { operation, baseUrl } = call;
  const slash = readSlashRedirect(response, call.url);
  const setting = slash && operation.leaf && describeFix({ leaf: 'paths.trailing_slash', value: slash });
  const fix = ['Check the base URL.', setting ?? contractHint(call, status)].filter(Boolean).join('\n');
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

function contractHint({ operation: { leaf }, baseUrl, wire }: Call, status: number): string | undefined {
  if (leaf === undefined) return undefined;
  const slash = /\/(\?|$)/.test(wire.path) ? 'never' : 'always';
  const document = `If the service takes this call otherwise, its OpenAPI document tells how: partnerctl contract import ${shellQuote(baseUrl)}`;
  const setting = `Or set it with: partnerctl contract set ${leaf} '<METHOD> <path>'`;
  if (status !== 404 && status !== 405) return `${document}\n${setting}`;
  return `${document}\n${setting}\nOr, if only the trailing slash differs: partnerctl contract set paths.trailing_slash ${slash}`;
}

function lastStep(path: string): string {
  return path.split(/[.[\]/]+/).findLast((step) => step !== '') ?? '';
}

/** The command for the file of an upload under another name, which Rails names only if the form lacks the object around it. */
function fileHint(
  { operation: { leaf } }: Call,
  { fields, message = '' }: ErrorBody,
  status: number,
): string | undefined {
  const file = leaf && parametersOf(leaf).find((parameter) => parameter.endsWith('.file'));
  if (file === undefined) return undefined;
  const [, missing] = /^param is missing or the value is empty(?: or invalid)?: (\w+)/.exec(message) ?? [];
  if (missing) return describeFix({ leaf: file, value: `form:${missing}[file]`, other: `form:${missing}` });
  const named = fields.map(({ path }) => lastStep(path)).find((name) => name !== '');
  if (named === undefined && status !== 400) return undefined;
  return describeFix({ leaf: file, value: `form:${named ?? '<name>'}` });
}

/** The command for a history that is read with POST, its parameters in the body (spec §4.4 leaves the method open). */
function describePost(contract: Contract): string {
  const path = contract.leaf('messages.history').value.replace(/^GET /, 'POST ');
  const inBody = parametersOf('messages.history').flatMap((leaf) => {
    const { place, path: steps = [] } = contract.parameter(leaf) ?? {};
    return place === 'query' ? `${leaf} body:${steps.join('.')}` : [];
  });
  return `To read it with POST, run: partnerctl contract set messages.history ${[shellQuote(path), ...inBody].join(' ')}`;
}

/** Returns the error for a call without a complete response: indeterminate if a `once` request may have left whole. */
export function networkError(failure: TransportFailure, call: Call, end: CallEnd): PartnerctlError {
  const { sent, message, code, status, isTransient, cause } = failure;
  const { operation, baseUrl } = call;
  const { attempts, requestId, timeoutMs } = end;
  const isLate = end.isOutOfTime || cause instanceof TimeLimitReached;
  const isProxy = code?.startsWith('PROXY_') && !isLate;
  const limit = timeoutMs === undefined ? ' in time' : ` within ${formatDuration(timeoutMs)} (--timeout)`;
  const extent = isLate ? limit : afterAttempts(end);
  const what = {
    nothing: `Could not reach ${baseUrl}${extent}.`,
    part: `Could not send the whole request to ${baseUrl}${extent}.`,
    all: isLate ? `No response${extent}.` : `No complete response from ${baseUrl}${extent}.`,
  };
  const error = new ServiceError(isProxy ? `${message}.` : what[sent], {
    why: isProxy || cause instanceof TimeLimitReached ? undefined : message,
    status,
    // Nobody at the service can look up what was not sent.
    requestId: sent === 'nothing' ? undefined : requestId,
    hint: isLate && isTransient ? 'Allow more time with --timeout.' : networkHint(failure, baseUrl),
    permanent: !isTransient,
    details: { operation: operation.name, reason: code ?? null, left: sent === 'all', attempts },
    cause,
  });
  return sent === 'all' ? toIndeterminate(error, operation) : error;
}

function networkHint({ code, isTransient }: TransportFailure, baseUrl: string): string {
  if (code?.startsWith('PROXY_')) return `Check the proxy, or add ${new URL(baseUrl).hostname} to NO_PROXY.`;
  const more = isTransient ? '' : ', and the certificate: NODE_EXTRA_CA_CERTS names a file with further authorities';
  return `Check the base URL ${baseUrl}, its scheme and port, and the network${more}. -v shows every attempt.`;
}

function afterAttempts({ attempts }: CallEnd): string {
  return attempts <= 1 ? '' : ` after ${attempts} attempts`;
}
