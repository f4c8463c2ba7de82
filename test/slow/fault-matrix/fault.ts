import type { ReceivedRequest, ServiceResponse } from './http-message.ts';

/** The next action of the proxy on the connection of a faulty request. Without an `end`, the connection stays open. */
export type Step =
  | { readonly do: 'write'; readonly bytes: Buffer | string }
  | { readonly do: 'pause'; readonly ms: number }
  | { readonly do: 'end' }
  | { readonly do: 'reset' };

/** What the steps of a fault may use. */
export interface FaultScene {
  readonly request: ReceivedRequest;
  /** The service's response; empty if the request is not carried out before the steps. */
  readonly response: ServiceResponse;
  /** The target of a redirect or a link: a server that the program must never contact. */
  readonly elsewhere: string;
}

/**
 * What the fault means to the program, from which the exit codes follow:
 *
 * - `harmless`: the response arrives, in an unusual way.
 * - `unsent`: the request cannot have been sent.
 * - `unseen`: the connection broke so early that the request may not have been sent.
 * - `lost`: no complete response, and another attempt may help.
 * - `outage`: no complete response to any request from then on.
 * - `late`: no complete response until the deadline.
 * - `unreadable`: a response that cannot be understood; another attempt may help.
 * - `stale`: what was written is not listed yet.
 * - `redirect`, `denied`, `forbidden`, `balance`, `not-found`, `limited`, `closed`: the answer of the service itself.
 * - `gateway-404`: the answer of a gateway.
 */
export type Meaning =
  | 'harmless'
  | 'unsent'
  | 'unseen'
  | 'lost'
  | 'outage'
  | 'late'
  | 'unreadable'
  | 'stale'
  | 'redirect'
  | 'denied'
  | 'forbidden'
  | 'balance'
  | 'not-found'
  | 'gateway-404'
  | 'limited'
  | 'closed';

/** One fault: one column of the table. */
export interface Fault {
  readonly name: string;
  readonly meaning: Meaning;
  /** Whether every request from the faulty one on has the fault, until the end of the command. One request by default. */
  readonly lasting?: true;
  /** Only reads, or only writes, can have this fault. */
  readonly only?: 'reads' | 'writes';
  /** A fault of the connection that the request would use. Each request then has its own connection. */
  readonly connection?: 'refuse' | 'reset' | 'silence';
  /** The connection of the request before, which promised to stay open, is reset when the next request arrives on it. */
  readonly closesKeptAlive?: true;
  /** A reset once the head of the request has arrived. */
  readonly resetsInRequest?: true;
  /** When the service carries the request out: never by default. */
  readonly carriedOut?: 'first' | 'late';
  /**
   * Reads get the responses from before the command started, from the faulty request on, for 5 s on the clock of the commands.
   */
  readonly stale?: true;
  /** What is sent instead of the response. */
  readonly steps?: (scene: FaultScene) => readonly Step[];
}
