import { type AgentInput, agentFlags } from '../cli/agent-args.ts';
import type { Args } from '../cli/command.ts';
import { NotFoundError, UsageError } from '../errors.ts';
import { type KeyHistory, keyHistories, keyHistory } from '../state-old/once-records.ts';
import { parseJobAgent } from './job-agent.ts';
import type { JobRecord, JobSnapshot } from './job-records.ts';

/** How the command line selects a recorded job: by its key or id, or by agent and name. */
export type JobSelection = { readonly key: string } | (AgentInput & { readonly name: string });

export const JOB_SELECTION_FLAGS = [
  ...agentFlags('in place of the key, with --name: '),
  { usage: '--name <name>', description: 'in place of the key, with --agent: the name of the job' },
] as const;

/** Parses the selection. @param key the key, if typed @throws UsageError unless the job is named in exactly one way */
export function parseJobSelection(args: Args, key: string | undefined): JobSelection {
  const named = args.value('agent') !== undefined || args.value('name') !== undefined;
  if (key && named) throw new UsageError('The job is named twice: by its key, and by --agent and --name.');
  if (key) return { key };
  if (!named)
    throw new UsageError('No job is named.', {
      hint: 'Give its key (`partnerctl cron list --local -o json` shows it), or --agent and --name.',
    });
  const name = args.value('name');
  if (!name) throw new UsageError('--name is missing.');
  return { ...parseJobAgent(args), name };
}

/** The records of a selected job. */
export interface SelectedJob {
  readonly key: string;
  /** The last recorded snapshot; undefined if there is none. */
  readonly snapshot: JobSnapshot | undefined;
  readonly history: KeyHistory<JobSnapshot>;
  readonly records: readonly JobRecord[];
}

/** Selects the records of one key. */
export function selectByKey(all: readonly JobRecord[], key: string): SelectedJob {
  const records = all.filter((record) => record.key === key);
  const last = records.findLast((record) => 'snapshot' in record);
  return { key, snapshot: last?.snapshot, history: keyHistory(records), records };
}

/** Returns the key of the recorded job with an id of the service; undefined unless exactly one has it. */
export function findKeyById(all: readonly JobRecord[], cronJobId: string): string | undefined {
  const jobs = [...keyHistories(all).values()].flatMap(({ objects }) => objects);
  const [key, ...others] = new Set(jobs.filter(({ remoteId }) => remoteId === cronJobId).map((job) => job.key));
  return others.length === 0 ? key : undefined;
}

/** The error about a job, selected by its agent and name, that is not in the state. */
export function unknownJobError({ agent_id, name }: Pick<JobSnapshot, 'agent_id' | 'name'>): NotFoundError {
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
