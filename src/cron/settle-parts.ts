import { listCronJobs } from '../api/cron-jobs.ts';
import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import { shellCommand } from '../cli/shell-command.ts';
import { type PartnerctlError, withHint } from '../errors.ts';
import { hasEnded } from '../state/owner.ts';
import { randomRecordId } from '../state/record.ts';
import { leftRecords, removeLeft } from '../state/recovery.ts';
import type { Recorded } from './history.ts';
import { jobFinder } from './job-list.ts';
import type { OpenedLedger } from './ledger.ts';
import type { Settled } from './reconcile.ts';
import { type SettleParts, takeUp } from './settle.ts';

/** Appends to the state file what was left beside it. @throws LocalError when it still cannot be written */
export async function takeUpLeftRecords(context: Context, ledger: OpenedLedger): Promise<readonly Recorded[]> {
  return await takeUp(await leftRecords(await context.statePath()), ledger, removeLeft);
}

/** The service's list is all that reconciling goes by. */
async function refuseWithoutList({ flags }: Context, error: PartnerctlError): Promise<never> {
  const settle = shellCommand(['cron', 'adopt', '<cron_job_id>', '--key', '<key>'], flags);
  const free = shellCommand(['cron', 'forget', '<key>'], flags);
  throw withHint(error, {
    hint: `Without the service's list nothing can be reconciled. What you know otherwise can be said by hand: ${settle} or ${free}`,
    details: {},
  });
}

async function saysNotCreated(context: Context, { reservation }: Settled): Promise<boolean> {
  const { name, agent_id, at } = reservation;
  return await context.confirm(
    `The job ${JSON.stringify(name)} of the agent ${agent_id} (reserved ${at}) is not listed. Take it as not created?`,
  );
}

/** What settling needs, for a command. */
export function settleParts(context: Context, http: Http, ledger: OpenedLedger): SettleParts {
  const { clock, abortSignal, isInteractive, progress } = context;
  return {
    origin: http.baseUrl,
    ledger,
    clock,
    ended: abortSignal,
    newId: randomRecordId,
    hasEnded,
    look: (wanted) =>
      jobFinder({
        list: () => listCronJobs(http),
        wanted,
        clock,
        onUnavailable: (error) => refuseWithoutList(context, error),
      }),
    confirm: isInteractive ? (settled) => saysNotCreated(context, settled) : undefined,
    onWait: () => progress.update('Waiting, in case the service lists it a little later'),
  };
}
