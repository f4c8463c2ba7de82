import { listJobs } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { ListUnavailable, nameListFailure, toListFailure } from '../api/list-failure.ts';
import { ErrorInSuccessBody, isTokenRejected, NotJsonError, type PartnerctlError, ShapeError } from '../errors.ts';
import { JOB_LIST, toListedJob } from './job-list.ts';
import type { ListedJob } from './listed-job.ts';

/** Whether a list will not be read later either: a person has to say what exists. */
function isUnreadable(error: unknown, failure: unknown): error is PartnerctlError {
  if (failure instanceof ListUnavailable) return !isTokenRejected(error);
  return error instanceof ShapeError && !(error instanceof NotJsonError || error instanceof ErrorInSuccessBody);
}

/**
 * Looks up a job by its id. The list is `unreadable` if neither this nor a later attempt can read it.
 * @throws PartnerctlError if a later attempt may read it
 */
export async function findListedJob(
  http: Http,
  cronJobId: string,
): Promise<
  | { readonly kind: 'listed'; readonly job: ListedJob }
  | { readonly kind: 'unlisted' }
  | { readonly kind: 'unreadable'; readonly reason: PartnerctlError }
> {
  try {
    for await (const item of listJobs(http)) {
      const job = toListedJob(item, http.contract);
      if (job.cron_job_id === cronJobId) return { kind: 'listed', job };
    }
    return { kind: 'unlisted' };
  } catch (error) {
    const failure = toListFailure(error, { name: JOB_LIST, wasRead: false, isPartlyRead: false });
    if (isUnreadable(error, failure)) return { kind: 'unreadable', reason: error };
    const reason = failure instanceof ListUnavailable ? failure.reason : failure;
    throw nameListFailure(reason, JOB_LIST, 'Nothing was changed.');
  }
}
