import { errorCode, errorMessage } from '../platform/error-code.ts';
import type { TransportFailure } from './transport.ts';

export class TimeLimitReached extends Error {
  override readonly message = 'no complete response came in time';
}

/** The request was not sent, because `maySend` returned false. */
export class SendRefused extends Error {
  override readonly message = 'the request was not sent';
}

/** Failures that no retry can fix: of certificates, handshakes, and proxies, and a body that is too large. */
const PERMANENT_CODE =
  /^(UND_ERR_RES_EXCEEDED|PROXY_REFUSED|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO|HOSTNAME_MISMATCH)/;

/** Extracts the reason from an OpenSSL message, which also contains source locations. */
const OPENSSL_REASON = /^[0-9A-F]*:?error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):/;

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the service does not speak TLS on this port',
  UND_ERR_CONNECT_TIMEOUT: 'the connection could not be made in time',
  UND_ERR_HEADERS_TIMEOUT: 'no response came in time',
  UND_ERR_BODY_TIMEOUT: 'the response stopped before its end',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'the response is larger than 64 MiB',
  UND_ERR_SOCKET: 'the connection was closed before the response was complete',
};

/** Returns the failure for what ended an exchange. */
export function toFailure(thrown: unknown, sent: TransportFailure['sent'], status?: number): TransportFailure {
  // Node tries every address of a host and throws one AggregateError; the first error is enough.
  const cause: unknown = thrown instanceof AggregateError && thrown.errors.length > 0 ? thrown.errors[0] : thrown;
  const found = errorCode(cause);
  const code = typeof found === 'string' ? found : undefined;
  const text = errorMessage(cause);
  const message = DESCRIPTIONS[code ?? ''] ?? OPENSSL_REASON.exec(text)?.[1] ?? text;
  const isPermanent = cause instanceof SendRefused || PERMANENT_CODE.test(code ?? '');
  return { kind: 'failure', sent, isTransient: !isPermanent, message, code, status, cause };
}
