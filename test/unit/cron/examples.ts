import type { CreateOutcome, CronJob, ReconcileResult } from './engine.ts';
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
  return await process.run(() => process.engine.create(job, { ensure, dryRun }));
}

/** One run of `cron reconcile`. */
export async function reconcile(
  world: World,
  { assume = false, ...fate }: Fate & { readonly assume?: boolean } = {},
): Promise<readonly ReconcileResult[] | 'died'> {
  const process = world.process(fate);
  return await process.run(() => process.engine.reconcile({ assumeNotCreated: assume, graceMs: GRACE_MS }));
}

/** The records of the file, in short form. */
export function shortRecords(world: World): string[] {
  return world.records().map((record) => ('reason' in record ? `${record.kind} ${record.reason}` : record.kind));
}
