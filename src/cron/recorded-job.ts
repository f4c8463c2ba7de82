import { NotFoundError } from '../errors.ts';
import type { JobIdentity } from './job.ts';
import type { JobStanding } from './jobs.ts';

/** Returns the key of the recorded job with an id of the service; undefined unless exactly one has it. */
export function findKeyById(all: ReadonlyMap<string, JobStanding>, cronJobId: string): string | undefined {
  const jobs = [...all.values()].flatMap(({ objects }) => objects);
  const [key, ...others] = new Set(jobs.filter(({ object }) => object === cronJobId).map((job) => job.key));
  return others.length === 0 ? key : undefined;
}

/** The error about a job, selected by its agent and name, that is not in the state. */
export function unknownJobError({ agent_id, name }: Pick<JobIdentity, 'agent_id' | 'name'>): NotFoundError {
  return new NotFoundError(`The state knows no job ${JSON.stringify(name)} of agent ${agent_id}.`, {
    hint: '`partnerctl cron list --local` shows the jobs. Is it in another state (--state)?',
  });
}

/** The error about a key that is not in the state. */
export function unknownKeyError(key: string, what: 'key' | 'key or id' = 'key'): NotFoundError {
  return new NotFoundError(`The state knows no job with the ${what} ${key}.`, {
    hint: '`partnerctl cron list --local -o json` shows the keys. Is it in another state (--state)?',
  });
}
