import { type ErrorBody, readErrorBody } from '../contract/error-body.ts';
import { describeJson } from '../contract/json.ts';
import type { Operation } from '../contract/operations.ts';
import {
  BalanceError,
  CredentialsError,
  type ErrorInfo,
  NotFoundError,
  OutcomeUnknownError,
  type PartnerctlError,
  RateLimitError,
  RefusedError,
  ServiceError as ServiceFailure,
} from '../errors.ts';
import type { TransportResult } from './transport.ts';

type Response = Extract<TransportResult, { kind: 'response' }>;
type Failure = Extract<TransportResult, { kind: 'failure' }>;

/** What the message says about the call, beside the reply itself. */
export interface CallContext {
  readonly operation: Operation;
  /** The base address, as configured. */
  readonly baseUrl: string;
  /** Undefined where nothing was sent. */
  readonly requestId: string | undefined;
  readonly attempts: number;
  /** Set when the deadline, and not the number of attempts, ended the call. */
  readonly outOfTime: boolean;
  /** Moment in milliseconds before which a repeat is pointless. */
  readonly retryAt: number | undefined;
}

const QUOTED_CHARACTERS = 200;

function attempted({ attempts }: CallContext): string {
  return attempts <= 1 ? '' : ` after ${attempts} attempts`;
}

function complaintLines({ fields }: ErrorBody): string[] {
  return fields.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
}

function factsOf(response: Response, said: ErrorBody, call: CallContext): ErrorInfo {
  const lines = complaintLines(said);
  // Some services say the only complaint a second time, as the message of the whole.
  const repeated = said.fields.some(({ message }) => said.message?.includes(message));
  const why = [repeated ? undefined : said.message, ...lines]
    .filter((line) => line !== undefined && line !== '')
    .join('\n');
  return {
    why: why === '' ? undefined : why,
    status: response.status,
    code: said.code,
    requestId: response.headers['x-request-id'] ?? call.requestId,
    retryAt: call.retryAt === undefined ? undefined : new Date(call.retryAt).toISOString(),
    details: {
      operation: call.operation.name,
      message: said.message ?? null,
      ...(said.fields.length > 0 && { fields: said.fields }),
      attempts: call.attempts,
    },
  };
}

function rateLimited(info: ErrorInfo, call: CallContext): PartnerctlError {
  const later = info.retryAt ? `Run it again after ${info.retryAt}` : 'Run it again later';
  // A call that must happen once is not repeated after a 429, however much time there is.
  const hint =
    call.operation.safety === 'once'
      ? `${later}; the call was not processed.`
      : `${later}, or allow more time with --timeout.`;
  return new RateLimitError(`The service's rate limit is reached${attempted(call)} (429).`, { ...info, hint });
}

/** What an attempt before did is not known to the answer of the last one, where it was sent again after it had left. */
function balanceTooLow(info: ErrorInfo, { operation, attempts }: CallContext): PartnerctlError {
  const said = operation.safety === 'idempotent' && attempts > 1 ? '' : ' The call was not processed.';
  return new BalanceError("The organization's pay-as-you-go balance is too low (402).", {
    ...info,
    hint: `Top up the balance (the minimum is 1 USD), then run the command again.${said}`,
  });
}

function serverFailed(response: Response, info: ErrorInfo, call: CallContext): PartnerctlError {
  return new ServiceFailure(`The service failed with ${response.status}${attempted(call)}.`, {
    ...info,
    hint: info.retryAt
      ? `Run it again after ${info.retryAt}.`
      : 'Run it again later; quote the request id to the service’s support if it goes on.',
  });
}

/**
 * The end of a call after which it may or may not have been carried out: for a `once` call an OutcomeUnknownError that
 * has the failure as its cause, for any other the failure itself. What to do about it is the caller's to say.
 */
export function toIndeterminate(failure: PartnerctlError, { name, safety }: Operation): PartnerctlError {
  if (safety !== 'once') return failure;
  const { message, info } = failure;
  return new OutcomeUnknownError(`It is not known whether ${name} happened.`, {
    ...info,
    why: info.why === undefined ? message : `${message}\n${info.why}`,
    hint: undefined,
    cause: failure,
  });
}

function tooEarly({ status, body }: Response, info: ErrorInfo): PartnerctlError {
  return new ServiceFailure(`The service answered with ${status} before it had all of the request.`, {
    ...info,
    why: `It said: ${body.slice(0, QUOTED_CHARACTERS)}`,
    hint: 'What it speaks of cannot be what was to be sent.',
    permanent: true,
  });
}

function redirected(response: Response, info: ErrorInfo, call: CallContext): PartnerctlError {
  const location = response.headers.location ?? 'an address that it does not name';
  return new ServiceFailure(`The service redirects to ${location} (${response.status}).`, {
    ...info,
    permanent: true,
    hint: `Redirects are never followed, so that the token stays with ${call.baseUrl}. Check the base address.`,
  });
}

/**
 * The error for an answer that is not a success (spec §7).
 * The service's own message, status, code and request id survive in it. A 4xx says that nothing was done, a 408 too: it
 * stands for a request that did not come whole. After a 3xx or a 5xx that is open, unless it came early. A 2xx that did
 * is a failure.
 */
export function responseError(response: Response, call: CallContext): PartnerctlError {
  const said = readErrorBody(response.body, response.headers['content-type']);
  const info = factsOf(response, said, call);
  const { status } = response;
  switch (true) {
    case status === 401:
      return new CredentialsError('The service does not accept the token (401).', {
        ...info,
        hint: `Check that the token belongs to ${call.baseUrl}; \`partnerctl login\` stores another one.`,
      });
    case status === 402:
      return balanceTooLow(info, call);
    case status === 403:
      return new CredentialsError(`The token may not do this (403).`, {
        ...info,
        hint: "Check the token's scopes, and that allowed_ip_cidrs holds this machine's public address.",
      });
    case status === 404:
      return new NotFoundError(`The service does not know this (404).`, {
        ...info,
        hint: `Check the id, and the base address ${call.baseUrl}.`,
      });
    case status === 429:
      return rateLimited(info, call);
    case status < 300:
      return tooEarly(response, info);
    case status < 400:
      return response.early
        ? redirected(response, info, call)
        : toIndeterminate(redirected(response, info, call), call.operation);
    case status >= 500:
      return response.early
        ? serverFailed(response, info, call)
        : toIndeterminate(serverFailed(response, info, call), call.operation);
    case status === 413:
      return new RefusedError('It is larger than the service takes (413).', {
        ...info,
        hint: 'Send a smaller one; what the limit is only the service can say.',
      });
    case status === 408:
      return serverFailed(response, info, call);
    default:
      return new RefusedError(`The service refused the call (${status}).`, {
        ...info,
        hint: 'Correct what it complains about, then run the command again.',
      });
  }
}

function hintFor(failure: Failure, call: CallContext): string {
  if (failure.code?.startsWith('BODY_'))
    return `The tool cannot read such an answer; check the base address ${call.baseUrl}.`;
  if (failure.code === 'PROXY_REFUSED')
    return 'HTTPS_PROXY names the proxy; one that wants a name and a password gets them as http://name:password@host:port.';
  if (failure.code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return `Check the scheme and the port of the base address ${call.baseUrl}.`;
  if (!failure.transient) {
    return 'Check the certificate of the service; NODE_EXTRA_CA_CERTS names a file with further authorities.';
  }
  if (call.outOfTime) return 'Allow more time with --timeout, or run it again later.';
  return `Check the base address ${call.baseUrl} and the network; -v shows every attempt.`;
}

/** The error for a call to which no complete answer came. */
export function networkError(failure: Failure, call: CallContext): PartnerctlError {
  const info: ErrorInfo = {
    why: call.outOfTime ? `${failure.message}; then the time was up` : failure.message,
    status: failure.status,
    requestId: call.requestId,
    hint: hintFor(failure, call),
    permanent: !failure.transient,
    details: {
      operation: call.operation.name,
      reason: failure.code ?? null,
      left: failure.left,
      attempts: call.attempts,
    },
    cause: failure.cause,
  };
  if (!failure.began) return new ServiceFailure(`Could not reach ${call.baseUrl}${attempted(call)}.`, info);
  if (!failure.left) {
    return new ServiceFailure(`Not all of the request could be sent to ${call.baseUrl}${attempted(call)}.`, info);
  }
  const lost = new ServiceFailure(`No complete answer came from ${call.baseUrl}${attempted(call)}.`, info);
  return toIndeterminate(lost, call.operation);
}

/** What a body that should have been JSON was instead, in words. */
export function describeBody(body: string, contentType: string | undefined): string {
  if (body.trim() === '') return 'an empty body';
  const { message } = readErrorBody(body, contentType);
  return message ?? describeJson(body);
}
