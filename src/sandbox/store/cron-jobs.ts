import * as v from 'valibot';

export const cronJobRecordSchema = v.strictObject({
  cron_job_id: v.string(),
  agent_id: v.string(),
  name: v.string(),
  instructions: v.string(),
  schedule: v.strictObject({
    type: v.literal('cron'),
    data: v.strictObject({ minute: v.string(), hour: v.string(), day_of_week: v.string() }),
    timezone: v.string(),
  }),
  created_at: v.string(),
});

export const cronRunRecordSchema = v.strictObject({
  cron_job_id: v.string(),
  /** The moment of the schedule that the run was for, whenever it took place. */
  scheduled_for: v.string(),
});

/** A scheduled job of an agent (spec §2). */
export type CronJobRecord = v.InferOutput<typeof cronJobRecordSchema>;

/** A job was run for a moment of its schedule. */
export type CronRunRecord = v.InferOutput<typeof cronRunRecordSchema>;

/** Scheduled jobs in the order of creation, and the last run of each. */
export class CronJobTable {
  #all: CronJobRecord[] = [];
  readonly #byId = new Map<string, CronJobRecord>();
  readonly #byAgent = new Map<string, CronJobRecord[]>();
  readonly #lastRuns = new Map<string, CronRunRecord>();

  add(job: CronJobRecord): void {
    this.#all.push(job);
    this.#byId.set(job.cron_job_id, job);
    const siblings = this.#byAgent.get(job.agent_id);
    if (siblings) siblings.push(job);
    else this.#byAgent.set(job.agent_id, [job]);
  }

  remove(cronJobId: string): void {
    const job = this.#byId.get(cronJobId);
    if (!job) return;
    this.#all = this.#all.filter((each) => each !== job);
    this.#byAgent.set(
      job.agent_id,
      this.ofAgent(job.agent_id).filter((each) => each !== job),
    );
    this.#byId.delete(cronJobId);
    this.#lastRuns.delete(cronJobId);
  }

  ran(run: CronRunRecord): void {
    this.#lastRuns.set(run.cron_job_id, run);
  }

  get(cronJobId: string): CronJobRecord | undefined {
    return this.#byId.get(cronJobId);
  }

  lastRun(cronJobId: string): CronRunRecord | undefined {
    return this.#lastRuns.get(cronJobId);
  }

  all(): readonly CronJobRecord[] {
    return this.#all;
  }

  ofAgent(agentId: string): readonly CronJobRecord[] {
    return this.#byAgent.get(agentId) ?? [];
  }

  lastRuns(): Iterable<CronRunRecord> {
    return this.#lastRuns.values();
  }
}
