import type { Contract } from '../contract/contract.ts';
import type { LeafName } from '../contract/leaves.ts';
import type { AttemptDeps } from './attempt.ts';
import type { TokenOrigin } from './call-errors.ts';

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
  /** Called for each proof of a value, so that it is known the next time; with undefined if a proof no longer holds. */
  readonly onObserved?: ((leaf: LeafName, value: string | undefined) => void) | undefined;
}
