import type { Scheduler } from '../scheduler.ts';
import { createId } from '../service.ts';
import type { CronJob } from '../store/changes.ts';
import type { Store } from '../store/store.ts';
import type { AgentRunner } from './agent-runner.ts';
import { ensureChatSource } from './chat-source.ts';
import { nextRunAfter } from './cron-schedule.ts';

/** A missed run is still executed if it is less than this many milliseconds late. */
const GRACE_MS = 60_000;

interface CronRunnerDeps {
  readonly store: Store;
  readonly scheduler: Scheduler;
  readonly agents: AgentRunner;
}

/** The session id of a job's runs, in the API chat source of its agent. */
export function sessionIdOf(job: CronJob): string {
  return `cron:${job.cron_job_id}`;
}

function taskKey(job: CronJob): string {
  return JSON.stringify(['cron', job.cron_job_id]);
}

/**
 * Runs scheduled jobs. A run is a message to the agent with the role `user`, the job's id, and its instructions as the text,
 * in a session of the job's own; the agent replies to it as to any message.
 *
 * As with cron itself, a run that is missed while the service is down is skipped, unless it is less than a minute late.
 * The scheduled time is committed together with the message, and is part of its external id, so that no run happens twice.
 */
export class CronRunner {
  readonly #deps: CronRunnerDeps;

  constructor(deps: CronRunnerDeps) {
    this.#deps = deps;
  }

  /** Creates a job; the same input again creates another one (spec §4.5). */
  create(input: Omit<CronJob, 'cron_job_id' | 'created_at'>): CronJob {
    const { store, scheduler } = this.#deps;
    const job = { cron_job_id: createId('cron'), ...input, created_at: new Date(scheduler.now()).toISOString() };
    store.commit({ kind: 'cron_job', job });
    this.#schedule(job);
    return job;
  }

  remove(job: CronJob): void {
    const { store, scheduler } = this.#deps;
    store.commit({ kind: 'cron_job_deleted', cron_job_id: job.cron_job_id });
    scheduler.set(taskKey(job), undefined, () => undefined);
  }

  /** Schedules the jobs that existed when the sandbox last stopped. */
  resume(): void {
    for (const job of this.#deps.store.world.cronJobs.values()) this.#schedule(job);
  }

  /** When the job runs next, in ISO 8601. */
  nextRunAt(job: CronJob): string | null {
    const at = this.#deps.scheduler.at(taskKey(job));
    return at === undefined ? null : new Date(at).toISOString();
  }

  #schedule(job: CronJob): void {
    const { store, scheduler } = this.#deps;
    const last = store.world.lastRuns.get(job.cron_job_id) ?? job.created_at;
    const after = Math.max(Date.parse(last), scheduler.now() - GRACE_MS);
    scheduler.set(taskKey(job), nextRunAfter(job.schedule, after), (due) => {
      if (scheduler.now() - due < GRACE_MS) this.#run(job, new Date(due).toISOString());
      this.#schedule(job);
    });
  }

  #run(job: CronJob, scheduled_for: string): void {
    const { store, agents } = this.#deps;
    const { cron_job_id, agent_id, instructions } = job;
    const agent = store.world.agents.get(agent_id);
    if (!agent) throw new Error(`The agent ${agent_id} of the job ${cron_job_id} does not exist.`);
    const { source } = ensureChatSource(this.#deps, agent, {});
    const message = {
      session_id: sessionIdOf(job),
      text: instructions,
      external_message_id: `cron:${scheduled_for}`,
      cron_job_id,
    };
    agents.receive(source, message, { kind: 'cron_run', cron_job_id, scheduled_for });
  }
}
