import { readCreated } from './body.ts';
import type { Contract } from './contract.ts';
import { byNormalName } from './field-names.ts';
import { Fields } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { asId, isTextOrNumber } from './values.ts';

/** When a job runs: cron fields and a time zone, in the service's format. */
export interface WireSchedule {
  readonly minute: string;
  readonly hour: string;
  readonly day_of_week: string;
  /** As the service sent it; undefined if it sent none. */
  readonly timezone: string | undefined;
}

/** A scheduled job as the service lists it. Missing and unreadable fields are undefined. */
export interface ListedCronJob {
  readonly cron_job_id: string;
  readonly agent_id: string | undefined;
  /** A text in `agent`, which may be its id or its name. */
  readonly agent_text: string | undefined;
  /** Null if the service says that the job has none. */
  readonly name: string | null | undefined;
  readonly instructions: string | undefined;
  /** Undefined also if minute, hour, and day_of_week cannot be read, or cannot express it. */
  readonly schedule: WireSchedule | undefined;
}

/** Cron fields that `WireSchedule` cannot express. */
const OTHERS = ['dayofmonth', 'day', 'month', 'year', 'week', 'second'];
const UNRESTRICTED: readonly unknown[] = ['*', '?', null, undefined];

/** Returns the schedule if all three fields are present: the default of a missing one is unknown. */
function fromFields(fields: ReadonlyMap<string, unknown>, timezone: string | undefined): WireSchedule | undefined {
  if (!OTHERS.every((name) => UNRESTRICTED.includes(fields.get(name)))) return undefined;
  const [minute, hour, day_of_week] = ['minute', 'hour', 'dayofweek'].map((name) => {
    const value = fields.get(name);
    return isTextOrNumber(value) ? String(value).trim() : '';
  });
  return minute && hour && day_of_week ? { minute, hour, day_of_week, timezone } : undefined;
}

/** Reads a schedule as it was sent (spec §2), or an expression in its place: `0 9 * * 1-5`. */
function scheduleOf(job: Fields, contract: Contract): WireSchedule | undefined {
  const schedule = job.value('cron_job.schedule');
  const zone = job.text('cron_job.timezone')?.trim() || undefined;
  if (typeof schedule === 'string') {
    const [minute, hour, dayofmonth, month, dayofweek, ...others] = schedule.trim().split(/\s+/);
    const year = others.join(' ') || undefined;
    return fromFields(new Map(Object.entries({ minute, hour, dayofmonth, month, dayofweek, year })), zone);
  }
  if (!isJsonObject(schedule)) return undefined;
  const { type = 'cron', data = schedule } = Object.fromEntries(byNormalName(schedule));
  if (typeof type !== 'string' || !/^cron/i.test(type) || !isJsonObject(data)) return undefined;
  const own = new Fields(schedule, 'cron_job', contract).text('cron_job.timezone')?.trim();
  return fromFields(byNormalName(data), own || zone);
}

/** A text in `agent` may be a name. Taken for an id, it would assign the job to another agent. */
function agentOf(job: Fields): Pick<ListedCronJob, 'agent_id' | 'agent_text'> {
  const agent = job.objects.map((place) => byNormalName(place).get('agent')).find((each) => each !== undefined);
  const id = job.id('cron_job.agent_id');
  if (typeof agent === 'string') return { agent_id: id, agent_text: agent };
  return { agent_id: id ?? asId(agent) ?? job.shownText('cron_job.agent_id') ?? undefined, agent_text: undefined };
}

/**
 * Reads one job of a list. A schedule that is not clear is undefined.
 * @throws UnknownShape if the job has no id, or if its name or agent was sent and cannot be read
 */
export function readCronJob(item: JsonObject, contract: Contract): ListedCronJob {
  const job = new Fields(item, 'cron_job', contract);
  const texts = job.all('cron_job.instructions').map(({ value }) => value);
  return {
    cron_job_id: job.readId('cron_job.id'),
    ...agentOf(job),
    name: job.shownText('cron_job.name'),
    instructions: texts.find((value) => typeof value === 'string'),
    schedule: scheduleOf(job, contract),
  };
}

/** Returns the id from the response to creating a job (spec §4.5). @throws UnknownShape as `readCreated` */
export function readCreatedCronJob(body: unknown, contract: Contract): string {
  return readCreated(body, 'cron_job', contract).id;
}
