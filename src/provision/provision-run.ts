import type { JsonObject } from '../contract/json.ts';
import type { OutcomeUnknownError } from '../errors.ts';
import type { CronDeps } from './create-cron-jobs.ts';
import type { ProvisionHistory } from './history.ts';
import type { ManifestDocument } from './manifest.ts';
import type { ProvisionPlan } from './plan.ts';
import type { PostDeps } from './post-once.ts';
import type { RemoteStateUnavailable } from './remote-state.ts';

export interface ProvisionOptions {
  /** How long a POST of unknown outcome may still be carried out, in milliseconds. */
  readonly settleMs: number;
  /** Whether to post again although an earlier run may have installed the agents. */
  readonly retryUnknown: boolean;
}

/** The spaces of a run that the service lists. */
export interface ListedSpaces {
  /** By external id. */
  readonly spaces: ReadonlyMap<string, JsonObject>;
  /** The id of the last record of each space, by key, before the list was read. */
  readonly lastRecords: ReadonlyMap<string, string | undefined>;
}

export interface ProvisionDeps extends CronDeps, PostDeps, ProvisionOptions {
  readonly random: () => number;
  readonly retries: number;
  /** Undefined if the token may not list the spaces. */
  readonly listed: ListedSpaces | undefined;
  readonly history: ProvisionHistory;
  /** Called with the reason when the remote state turns out to be unavailable. */
  readonly onUnavailable: (reason: RemoteStateUnavailable) => Promise<void>;
}

/** What the attempts to apply one document share. */
export interface Run {
  readonly deps: ProvisionDeps;
  readonly document: ManifestDocument;
  readonly key: string;
  /** Whether the token may list the spaces and agents. */
  canRead: boolean;
  /** The space, once it was listed. */
  space?: JsonObject | undefined;
  isFirstRead: boolean;
  /** The plan before anything was sent. */
  firstPlan?: ProvisionPlan;
  /** The ids of the records that this run made. */
  readonly ownRecords: Set<string>;
  /** How long this run has slept. A clock that is set forward must not shorten the wait for a late effect. */
  sleptMs: number;
  /** How long it had slept when it first saw an open reservation, by the id of the reservation. */
  readonly firstSeen: Map<string, number>;
  /** The failure of the last POST that may have been carried out. */
  lostPost?: OutcomeUnknownError | undefined;
  /** The failure of the last lost POST that turned out not to have been carried out. */
  settledPost?: OutcomeUnknownError;
  /** The failure of the last POST that was not carried out. */
  failedPost?: unknown;
  failures: number;
  failedReads: number;
}
