import type { ListedCronJob } from '../contract/resources.ts';
import { comparableAgent } from '../contract/values.ts';
import { groupBy } from '../platform/group-by.ts';
import { type CronJob, cronKey, findDifferences, hashOf, type JobData, type JobStandings, looseName } from './job.ts';
import { completeSchedule, type ScheduleParts } from './schedule.ts';
import type { JobList } from './service-jobs.ts';

/*
 * A job whose name was edited is not a new one. The API changes and deletes nothing, so that a second one would run
 * beside the first for ever.
 */

/** A job that exists. */
export interface ExistingJob {
  readonly agent_id: string;
  /** Null if it may have been created. */
  readonly cron_job_id: string | null;
  readonly name: string;
}

/** A job that exists under another name, and is probably the wanted one. */
export interface LookAlike extends ExistingJob {
  readonly hasSameText: boolean;
}

/** What is known of a job: what the list shows of it, and else what was recorded. */
export function presentContent(data: JobData | undefined, listed: ListedCronJob | undefined) {
  const shown = Object.entries(listed?.schedule ?? {}).filter(([, part]) => part !== undefined);
  const schedule: ScheduleParts = { ...data?.schedule, ...Object.fromEntries(shown) };
  return { schedule, instructions: listed?.instructions, instructions_hash: data?.instructions_hash };
}

interface Known extends ExistingJob {
  readonly content: ReturnType<typeof presentContent>;
}

function* knownJobs(list: JobList | 'closed', standings: JobStandings, origin: string): Generator<Known> {
  if (list === 'closed') {
    for (const each of [...standings.objects(), ...standings.open()]) {
      const { agent_id, name } = each.data;
      const cron_job_id = 'object' in each ? each.object : null;
      if (each.data.origin === origin)
        yield { agent_id, cron_job_id, name, content: presentContent(each.data, undefined) };
    }
    return;
  }
  for (const listed of list.jobs.values()) {
    const { cron_job_id, name } = listed;
    const data = standings.dataOf(origin, cron_job_id);
    const agent_id = data?.agent_id ?? listed.agent_id ?? listed.agent_text;
    if (agent_id !== undefined)
      yield { agent_id, cron_job_id, name: name ?? '', content: presentContent(data, listed) };
  }
}

/** What an edit of the name leaves: the name but for case and spaces, or the instructions; each of one agent. */
function traitsOf(agentId: string, name: string, hash: string | undefined): readonly string[] {
  const agent = comparableAgent(agentId);
  return [`${agent}\nname ${looseName(name)}`, ...(hash === undefined ? [] : [`${agent}\ntext ${hash}`])];
}

/**
 * Indexes the jobs that exist. The returned function finds what a job was probably made of: a job of its agent that the
 * files do not name, with the same instructions, or the same name but for case and spaces.
 * @param isNamed whether the files of the run name or ignore a job; undefined for a job in no file: then one with the
 *   same instructions must have the same schedule, too
 */
export function indexLookAlikes(
  list: JobList | 'closed',
  standings: JobStandings,
  origin: string,
  isNamed: ((job: ExistingJob) => boolean) | undefined,
): (job: CronJob) => readonly LookAlike[] {
  const pairs = [...knownJobs(list, standings, origin)].flatMap((known) =>
    traitsOf(known.agent_id, known.name, hashOf(known.content)).map((trait) => ({ trait, known })),
  );
  const byTrait = groupBy(pairs, ({ trait }) => trait);
  return (job) => {
    const [key, text] = [cronKey({ ...job, origin }), hashOf(job)];
    const related = new Set(
      traitsOf(job.agent_id, job.name, text)
        .flatMap((trait) => byTrait.get(trait) ?? [])
        .map(({ known }) => known),
    );
    return [...related].flatMap(({ content, ...known }) => {
      const hasSameText = hashOf(content) === text;
      const hasSameTime =
        completeSchedule(content.schedule) !== undefined && findDifferences(content, job).length === 0;
      const isAlike = looseName(known.name) === looseName(job.name) || (hasSameText && (isNamed || hasSameTime));
      const isItself = cronKey({ ...known, origin }) === key;
      return isAlike && !isItself && !isNamed?.(known) ? [{ ...known, hasSameText }] : [];
    });
  };
}
