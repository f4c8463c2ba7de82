import type { StateStore } from '../state-old/store.ts';
import type { DocumentJobDeps } from './create-cron-jobs.ts';
import type { PostDeps } from './post-once.ts';
import type { ProvisionHistory } from './provision-history.ts';
import type { RemoteStateUnavailable, SpaceList } from './remote-state.ts';

export interface ProvisionOptions {
  /** How long a POST of unknown outcome may still be carried out, in milliseconds. */
  readonly settleMs: number;
  /** Whether to post again although an earlier run may have installed the agents. */
  readonly retryUnknown: boolean;
}

export interface ProvisionDeps extends DocumentJobDeps, PostDeps, ProvisionOptions {
  readonly random: () => number;
  readonly retries: number;
  /** Undefined if the token may not list the spaces. */
  readonly list: SpaceList | undefined;
  readonly history: ProvisionHistory;
  /** Reserves the spaces and jobs of several documents together. */
  readonly store: Pick<StateStore, 'reservationsAtOnce' | 'together'>;
  /** Called with the reason when the remote state turns out to be unavailable. */
  readonly onUnavailable: (reason: RemoteStateUnavailable) => Promise<void>;
}
