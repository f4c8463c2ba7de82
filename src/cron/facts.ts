import type { JobFacts } from './history.ts';
import { type CronJob, contentHash, instructionsHash } from './job.ts';
import { hasSameSchedule, type ListedJob } from './matching.ts';

/** What the file keeps of a job. */
export function factsOf(origin: string, job: CronJob): JobFacts {
  const { agent_id, name, schedule, instructions } = job;
  const hashes = { instructions_hash: instructionsHash(instructions), content_hash: contentHash(job) };
  return { origin, agent_id, name, schedule, ...hashes };
}

/** What the file keeps of a job that the service lists; null for what the service does not say. */
export function listedFacts(origin: string, job: Pick<CronJob, 'agent_id' | 'name'>, listed: ListedJob): JobFacts {
  const { schedule = null, instructions } = listed;
  return {
    origin,
    agent_id: job.agent_id,
    name: job.name,
    schedule,
    instructions_hash: instructions === undefined ? null : instructionsHash(instructions),
    content_hash: schedule && instructions !== undefined ? contentHash({ schedule, instructions }) : null,
  };
}

/** Whether two jobs do something else or run at other times, as far as both are known. */
export function hasOtherContent(one: JobFacts, other: JobFacts): boolean {
  if (one.content_hash !== null && other.content_hash !== null) {
    if (one.content_hash === other.content_hash) return false;
    // Hashes also differ between two names of one time zone.
    const hasSameText = one.instructions_hash === other.instructions_hash;
    return !hasSameText || !other.schedule || hasSameSchedule(one.schedule ?? undefined, other.schedule) !== true;
  }
  const texts = [one.instructions_hash, other.instructions_hash];
  if (!texts.includes(null) && texts[0] !== texts[1]) return true;
  return other.schedule !== null && hasSameSchedule(one.schedule ?? undefined, other.schedule) === false;
}
