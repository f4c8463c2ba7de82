import type { Contract } from '../contract/contract.ts';
import type { JsonObject } from '../contract/json.ts';
import type { RequestValues } from '../contract/request.ts';
import type { AttemptDeps } from './attempt.ts';
import type { TokenOrigin } from './call-errors.ts';
import type { StreamedBody } from './streamed-body.ts';
import type { HttpResponse } from './transport.ts';

/** What a client is made of. */
export interface HttpOptions extends AttemptDeps {
  /** The base URL without a trailing slash. */
  readonly baseUrl: string;
  readonly token: string;
  /** Where the token comes from, for messages. */
  readonly tokenOrigin?: TokenOrigin | undefined;
  readonly userAgent: string;
  readonly random: () => number;
  readonly retries: number;
  /** The command's deadline in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  /** The value of --timeout in milliseconds, for messages. */
  readonly timeoutMs?: number | undefined;
  /** Removes secrets from a text before it is quoted. */
  readonly redact: (text: string) => string;
  /** What is known of the service's wire format; the defaults if undefined. */
  readonly contract?: Contract | undefined;
  /** Called with what the user has to know about the answers of the service. */
  readonly onWarning?: ((text: string) => void) | undefined;
}

/** What a call may be given besides its operation. */
export interface CallOptions {
  /** Ignored with `link`, save for what goes into a body. */
  readonly values?: RequestValues;
  /** The link to another page: path and query, starting with the base path. Replaces the operation's own path. */
  readonly link?: string;
  /** What a body has besides the values: the token of a page. */
  readonly more?: JsonObject;
  /**
   * A body to send instead of JSON. While the connection keeps accepting chunks, only the command's deadline applies.
   */
  readonly body?: StreamedBody;
  /** The number of retries after the first attempt. Overrides the configured number. */
  readonly retries?: number;
  /**
   * The time limit for this call in milliseconds, including waits and retries. The command's deadline still applies.
   */
  readonly timeoutMs?: number;
  /** Whether to use a connection that nothing else has used, because a kept-alive one may be dead. */
  readonly freshConnection?: boolean;
  /** Called with the response that ends the call with an error. */
  readonly onRefusal?: (response: HttpResponse) => void;
  /** Cancels a `safe` call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}
