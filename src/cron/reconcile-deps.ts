import { listCronJobs } from '../api/cron-jobs.ts';
import type { Http } from '../api/http.ts';
import { nameListFailure } from '../api/list-failure.ts';
import type { Context } from '../cli/context.ts';
import { shellCommand } from '../cli/shell-command.ts';
import { fromLogRecord } from '../state-old/ledger.ts';
import { hasEnded } from '../state-old/owner.ts';
import { randomRecordId } from '../state-old/record.ts';
import { readRecovery, removeRecovery } from '../state-old/recovery.ts';
import type { JobLedger } from './job-ledger.ts';
import { createJobFinder, JOB_LIST } from './job-list.ts';
import { JOB_RECORDS, provesListRead, type RecordedJob } from './job-records.ts';
import type { ReconcileResult } from './reconcile.ts';
import { type ReconcileAllDeps, replayRecovery } from './reconcile-all.ts';

/** Appends the recovery files to the state file. @throws LocalError when it still cannot be written */
export async function replayRecoveryFiles(context: Context, ledger: JobLedger): Promise<readonly RecordedJob[]> {
  const files = await readRecovery(await context.statePath());
  const recovered = files.flatMap(({ path, record }) => {
    const job = fromLogRecord(record, JOB_RECORDS);
    return job ? [{ path, record: job }] : [];
  });
  return await replayRecovery(recovered, ledger, removeRecovery);
}

function hintWithoutList({ flags }: Context): string {
  const adopt = shellCommand(['cron', 'adopt', '<cron_job_id>', '--key', '<key>'], flags);
  const forget = shellCommand(['cron', 'forget', '<key>'], flags);
  return `Reconciling needs the service's list. If you know whether the job was created, record that yourself: ${adopt} or ${forget}`;
}

async function confirmNotCreated(context: Context, { reservation }: ReconcileResult): Promise<boolean> {
  const { snapshot, at } = reservation;
  return await context.confirm(
    `The service does not list job ${JSON.stringify(snapshot.name)} of agent ${snapshot.agent_id} (reserved ${at}). Treat it as not created?`,
  );
}

/** Creates the dependencies of `reconcileAll`. */
export function reconcileDeps(context: Context, http: Http, ledger: JobLedger): ReconcileAllDeps {
  const { clock, abortSignal, isInteractive, progress } = context;
  const failureHint = hintWithoutList(context);
  return {
    origin: http.baseUrl,
    ledger,
    clock,
    abortSignal,
    newId: randomRecordId,
    hasEnded,
    listJobs: (wanted) =>
      createJobFinder({
        list: () => listCronJobs(http),
        contract: http.contract,
        wanted,
        clock,
        wasReadBefore: async () => provesListRead(await ledger.readAll(), http.baseUrl),
        failureHint,
        onUnavailable: async (error) => {
          throw nameListFailure(error, JOB_LIST, failureHint);
        },
      }),
    confirm: isInteractive ? (result) => confirmNotCreated(context, result) : undefined,
    onWait: (ms) => progress.start('Waiting, because the service may list new jobs late', ms),
  };
}
