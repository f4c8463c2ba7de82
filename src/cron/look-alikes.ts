import type { ListedCronJob } from '../contract/resources.ts';
import { comparableAgent } from '../contract/values.ts';
import { groupBy } from '../platform/group-by.ts';
import { type CronJob, findDifferences, hashOf, type JobData, type JobStandings, looseName, toNfc } from './job.ts';
import type { JobList } from './job-list.ts';
import { completeSchedule, type ScheduleParts } from './schedule.ts';

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

function knownJobs(list: JobList | 'closed', standings: JobStandings, origin: string): readonly Known[] {
  if (list === 'closed') {
    const here = [...standings.objects(), ...standings.open()].filter(({ data }) => data.origin === origin);
    return here.map((each) => {
      const { agent_id, name } = each.data;
      const cron_job_id = 'object' in each ? each.object : null;
      return { agent_id, cron_job_id, name, content: presentContent(each.data, undefined) };
    });
  }
  return [...list.jobs.values()].flatMap((listed) => {
    const { cron_job_id, name } = listed;
    const data = standings.dataOf(origin, cron_job_id);
    const agent_id = data?.agent_id ?? listed.agent_id ?? listed.agent_text;
    return agent_id === undefined
      ? []
      : [{ agent_id, cron_job_id, name: name ?? '', content: presentContent(data, listed) }];
  });
}

/** How many are named at most: thousands of jobs may have the same instructions. */
const MAX_NAMED = 5;

/**
 * Indexes the jobs that exist. The returned function finds what a job was probably made of: a job of its agent that the
 * files do not name, with the same instructions, or the same name but for case and spaces; at most five.
 * @param isNamed whether the files of the run name or ignore a job; undefined for a job in no file: then one with the
 *   same instructions must have the same schedule, too
 */
export function indexLookAlikes(
  list: JobList | 'closed',
  standings: JobStandings,
  origin: string,
  isNamed: ((job: ExistingJob) => boolean) | undefined,
): (job: CronJob) => readonly LookAlike[] {
  const others = knownJobs(list, standings, origin).filter(({ content: _, ...job }) => !isNamed?.(job));
  const byName = groupBy(others, ({ agent_id, name }) => `${comparableAgent(agent_id)} ${looseName(name)}`);
  const byText = groupBy(others, ({ agent_id, content }) => `${comparableAgent(agent_id)} ${hashOf(content)}`);
  return (job) => {
    const agent = comparableAgent(job.agent_id);
    const sameText = new Set(
      byText.get(`${agent} ${hashOf(job)}`)?.filter(({ content }) => {
        return isNamed || (completeSchedule(content.schedule) && findDifferences(content, job).length === 0);
      }),
    );
    const alike = new Set([...(byName.get(`${agent} ${looseName(job.name)}`) ?? []), ...sameText]);
    return [...alike]
      .filter(({ name }) => toNfc(name) !== toNfc(job.name))
      .slice(0, MAX_NAMED)
      .map((each) => ({ ...each, hasSameText: sameText.has(each) }));
  };
}
