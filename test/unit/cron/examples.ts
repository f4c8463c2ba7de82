import { createOnce } from '../../../src/cron/create-once.ts';
import type { CreateOutcome } from '../../../src/cron/create-outcome.ts';
import type { CronJob } from '../../../src/cron/job.ts';
import type { ReconcileResult } from '../../../src/cron/reconcile.ts';
import { reconcileAll } from '../../../src/cron/reconcile-all.ts';
import { type Fate, GRACE_MS, type ListSays, World } from './world.ts';

export const ALL: ListSays = { agents: true, names: true, contents: true };

export const DAILY: CronJob = {
  agent_id: 'agt_a',
  name: 'daily',
  instructions: 'Sum up.',
  schedule: { minute: '0', hour: '9', day_of_week: '1-5', timezone: 'UTC' },
};

export const LATER: CronJob = { ...DAILY, schedule: { ...DAILY.schedule, hour: '10' } };

/** A world in which everything happens sequentially. */
export function calmWorld(says: ListSays = ALL): World {
  return new World({ schedule: (task) => task }, says);
}

interface Options {
  readonly ensure?: boolean;
  readonly dryRun?: boolean;
}

/** One run of `cron create`. */
export async function create(
  world: World,
  job: CronJob,
  { ensure = false, dryRun = false, ...fate }: Fate & Options = {},
): Promise<CreateOutcome | 'died'> {
  const process = world.process(fate);
  return await process.run(() => createOnce(job, process.createDeps(job), { ensure, dryRun }));
}

/** One run of `cron reconcile`. */
export async function reconcile(
  world: World,
  { assume = false, ...fate }: Fate & { readonly assume?: boolean } = {},
): Promise<readonly ReconcileResult[] | 'died'> {
  const process = world.process(fate);
  const options = { key: undefined, assumeNotCreated: assume, graceMs: GRACE_MS };
  return await process.run(() => reconcileAll(process.reconcileDeps(), options));
}

/** The records of the file, in short form. */
export function shortRecords(world: World): string[] {
  return world.records().map((record) => ('reason' in record ? `${record.kind} ${record.reason}` : record.kind));
}
