import type { Http } from '../api/http.ts';
import type { Clock } from '../clock.ts';
import type { JsonObject } from '../contract/json.ts';
import type { CreateJob } from '../cron/create-jobs.ts';
import type { CannotLook } from './look.ts';
import type { Memory } from './memory.ts';

/** What provisioning one document needs. */
export interface Surface {
  readonly http: Http;
  readonly clock: Clock;
  readonly random: () => number;
  readonly interrupt: AbortSignal;
  readonly retries: number;
  /** The spaces that the first look found, by external id; undefined when the service could not be asked. */
  readonly listed: ReadonlyMap<string, JsonObject> | undefined;
  readonly memory: Memory;
  /** Undefined where no document of the run has a scheduled job. */
  readonly createJob: CreateJob | undefined;
  /** Told why the service cannot be asked what is there. */
  readonly onBlind: (reason: CannotLook) => Promise<void>;
}
