import type { AgentRunner } from '../chat/runner.ts';
import { sourceFor } from '../chat/source.ts';
import { makeId } from '../ids.ts';
import type { CronJobRecord } from '../store/cron-jobs.ts';
import type { Store } from '../store/store.ts';
import type { Timeline } from '../time/timeline.ts';
import { nextMoment } from './moments.ts';

/** A run that could not take place on time takes place so many milliseconds late at most. */
const GRACE_MS = 60_000;

interface Parts {
  readonly store: Store;
  readonly timeline: Timeline;
  readonly runner: AgentRunner;
}

/** The session of a job's runs, in the API chat source of its agent. */
export function sessionOf(job: CronJobRecord): string {
  return `cron:${job.cron_job_id}`;
}

function keyOf(job: CronJobRecord): string {
  return JSON.stringify(['cron', job.cron_job_id]);
}

/**
 * Runs scheduled jobs. A run is a message to the agent, with role `user`, the job's id and its instructions as the text,
 * in a session that is the job's own; the agent acts on it as on any message.
 *
 * As with cron itself, a moment that passes while the service is down or the machine asleep is gone, unless it was
 * within the last minute. The moment that a run was for is committed together with its message, and is the message's
 * external id besides, so that no moment is ever run for twice.
 */
export class CronRunner {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Makes a job, each time another one (spec §4.5). */
  create(wanted: Omit<CronJobRecord, 'cron_job_id' | 'created_at'>): CronJobRecord {
    const { store, timeline } = this.#parts;
    const job = { cron_job_id: makeId('cron'), ...wanted, created_at: new Date(timeline.now()).toISOString() };
    store.commit({ kind: 'cron_job', job });
    this.#arm(job);
    return job;
  }

  remove(job: CronJobRecord): void {
    const { store, timeline } = this.#parts;
    store.commit({ kind: 'cron_job_deleted', cron_job_id: job.cron_job_id });
    timeline.set(keyOf(job), undefined, () => undefined);
  }

  /** Takes up the jobs that there were when the data was last in use. */
  resume(): void {
    for (const job of this.#parts.store.world.cronJobs.all()) this.#arm(job);
  }

  /** When the job runs next, in ISO 8601. */
  nextRunAt(job: CronJobRecord): string | null {
    const at = this.#parts.timeline.at(keyOf(job));
    return at === undefined ? null : new Date(at).toISOString();
  }

  #arm(job: CronJobRecord): void {
    const { store, timeline } = this.#parts;
    const last = store.world.cronJobs.lastRun(job.cron_job_id)?.scheduled_for ?? job.created_at;
    const after = Math.max(Date.parse(last), timeline.now() - GRACE_MS);
    timeline.set(keyOf(job), nextMoment(job.schedule, after), (due) => {
      if (timeline.now() - due < GRACE_MS) this.#run(job, new Date(due).toISOString());
      this.#arm(job);
    });
  }

  #run(job: CronJobRecord, scheduled_for: string): void {
    const { store, timeline, runner } = this.#parts;
    const { cron_job_id, agent_id, instructions } = job;
    const agent = store.world.agents.get(agent_id);
    if (!agent) throw new Error(`There is no agent ${agent_id} to run ${cron_job_id}.`);
    const { source } = sourceFor({ store, now: () => timeline.now() }, agent, {});
    runner.receive(
      source,
      {
        session_id: sessionOf(job),
        text: instructions,
        external_message_id: `cron:${scheduled_for}`,
        cron_job_id,
      },
      { kind: 'cron_run', run: { cron_job_id, scheduled_for } },
    );
  }
}
