import type { ReceivedRequest, ServiceResponse } from './http-message.ts';

/** What the proxy does next on the connection of a faulty request. Without an `end`, the connection stays open. */
export type Step =
  | { readonly do: 'write'; readonly bytes: Buffer | string }
  | { readonly do: 'pause'; readonly ms: number }
  | { readonly do: 'end' }
  | { readonly do: 'reset' };

/** What the steps of a fault may use. */
export interface FaultScene {
  readonly request: ReceivedRequest;
  /** What the service answered; undefined where the request is not carried out before the steps. */
  readonly response: ServiceResponse | undefined;
  /** Where a redirect or a link leads to: a server that must never hear from the program. */
  readonly elsewhere: string;
}

/**
 * What the outcome of the request means to the program, from which the exit codes follow:
 *
 * - `harmless`: the answer arrives, in an unusual way.
 * - `unsent`: the request cannot have left.
 * - `unseen`: the connection broke so early that the request may not have left.
 * - `lost`: no complete answer, and another attempt may help.
 * - `late`: no complete answer until the deadline.
 * - `unreadable`: an answer that cannot be understood; another attempt may help.
 * - `redirect`, `denied`, `forbidden`, `balance`, `not-found`, `limited`: what the service says.
 */
export type Meaning =
  | 'harmless'
  | 'unsent'
  | 'unseen'
  | 'lost'
  | 'late'
  | 'unreadable'
  | 'redirect'
  | 'denied'
  | 'forbidden'
  | 'balance'
  | 'not-found'
  | 'limited';

/** One fault: one column of the table. */
export interface Fault {
  readonly name: string;
  readonly meaning: Meaning;
  /** Whether every request from the faulty one on has the fault, until the end of the command. One request by default. */
  readonly lasting?: true;
  /** Only reads, or only writes, can have this fault. */
  readonly only?: 'reads' | 'writes';
  /** A fault of the connection on which the request would come. Each request then has a connection of its own. */
  readonly connection?: 'refuse' | 'reset' | 'silence';
  /** The connection of the request before is closed as soon as its response was sent, although it promised to stay open. */
  readonly closesKeptAlive?: true;
  /** A reset once the head of the request has arrived. */
  readonly resetsInRequest?: true;
  /** When the service carries the request out. */
  readonly carriedOut?: 'first' | 'never' | 'late';
  /** Reads are answered as before the command began, from the faulty request on. */
  readonly stale?: true;
  /** What is sent. */
  readonly steps?: (scene: FaultScene) => readonly Step[];
}
