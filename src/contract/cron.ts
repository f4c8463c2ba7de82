import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { findId, readId } from './fields.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';

/** When a job runs: cron fields and a time zone, as the service writes them. */
export interface WireSchedule {
  readonly minute: string;
  readonly hour: string;
  readonly day_of_week: string;
  readonly timezone: string;
}

/** A scheduled job as the service lists it. A field that is missing or unreadable is undefined. */
export interface ListedCronJob {
  readonly cron_job_id: string;
  readonly agent_id: string | undefined;
  readonly name: string | undefined;
  readonly instructions: string | undefined;
  /** Also undefined for a schedule that minute, hour, and day_of_week cannot express. */
  readonly schedule: WireSchedule | undefined;
}

/** Further fields a schedule may have. If one is limited, ours cannot express the schedule. */
const OTHER_FIELDS = ['day_of_month', 'day', 'month', 'month_of_year', 'year', 'week'];
const ANY = ['*', '?'];
const EXPRESSION_FIELDS = ['expression', 'cron', 'cron_expression'];

function cronField(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim();
  return Number.isInteger(value) ? String(value) : undefined;
}

type Fields = Omit<WireSchedule, 'timezone'>;

/** The fields, only if all three are there: the meaning of a missing one is unknown. */
function fromFields(place: JsonObject): Fields | undefined {
  const [minute, hour, day_of_week] = [place.minute, place.hour, place.day_of_week].map(cronField);
  if (minute === undefined || hour === undefined || day_of_week === undefined) return undefined;
  const others = OTHER_FIELDS.map((field) => place[field]).filter((value) => value !== undefined && value !== null);
  return others.every((value) => ANY.includes(String(value))) ? { minute, hour, day_of_week } : undefined;
}

/** `0 9 * * 1-5`: five fields, with no limit on the day of the month and the month. */
function fromExpression(text: unknown): Fields | undefined {
  if (typeof text !== 'string') return undefined;
  const [minute, hour, day = '', month = '', day_of_week, ...more] = text.trim().split(/\s+/);
  if (minute === undefined || hour === undefined || day_of_week === undefined || more.length > 0) return undefined;
  return ANY.includes(day) && ANY.includes(month) ? { minute, hour, day_of_week } : undefined;
}

function fieldsIn(place: unknown): Fields | undefined {
  if (!isJsonObject(place)) return fromExpression(place);
  if (place.type !== undefined && place.type !== 'cron') return undefined;
  if (isJsonObject(place.data)) return fromFields(place.data);
  const texts = [place.data, ...EXPRESSION_FIELDS.map((field) => place[field])];
  return fromFields(place) ?? fromExpression(texts.find((value) => typeof value === 'string'));
}

/** The job's fields. Those nested under the resource's name win over those around them. */
function jobIn(item: JsonObject): JsonObject {
  return { ...item, ...[item.cron_job, item.partner_cron_job].find(isJsonObject) };
}

function scheduleOf(job: JsonObject): WireSchedule | undefined {
  // Without a `schedule`, the job may contain the fields itself; its `type` is then not the schedule's.
  const { type: _, data: __, ...flat } = job;
  const schedule = job.schedule ?? flat;
  const fields = fieldsIn(schedule);
  const places = isJsonObject(schedule) ? [schedule, schedule.data, job] : [job];
  const timezone = places.filter(isJsonObject).find((place) => typeof place.timezone === 'string')?.timezone;
  if (fields === undefined || typeof timezone !== 'string' || timezone.trim() === '') return undefined;
  return { ...fields, timezone: timezone.trim() };
}

function agentOf({ agent_id, agent }: JsonObject): string | undefined {
  // A plain string may be a name. Taken for an id, it would make the job look like another agent's.
  return findId({ agent_id }, 'agent') ?? (isJsonObject(agent) ? findId(agent, 'agent') : undefined);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/**
 * Reads one job of a list (assumption `cron.fields`). Nothing is guessed: what is not certain is undefined.
 * @throws UnknownShape when it has no id
 */
export function readCronJob(item: JsonObject): ListedCronJob {
  const job = jobIn(item);
  return {
    cron_job_id: readId(item, 'cron_job'),
    agent_id: agentOf(job),
    name: textOf(job.name),
    instructions: textOf(job.instructions),
    schedule: scheduleOf(job),
  };
}

/**
 * The id in the response to creating a job (spec §4.5): at the top, or under data, result, job or the resource's name.
 * @throws UnknownShape when there is none, or the response reports a failure
 */
export function readCreatedCronJob(body: unknown): string {
  const top = isJsonObject(body) ? body : {};
  const envelopes = [top, top.data, top.result].filter(isJsonObject);
  rejectErrorInBody(body, envelopes, 'cron.fields');
  const places = envelopes.flatMap((place) => [place, place.cron_job, place.partner_cron_job, place.job]);
  const objects = places.filter(isJsonObject);
  // A plain `id` beside a nested job belongs to the envelope, so the innermost object with an id counts.
  const candidates = [...objects.filter((object) => 'cron_job_id' in object), ...objects.toReversed()];
  const id = candidates.map((object) => findId(object, 'cron_job')).find((found) => found !== undefined);
  if (id === undefined) {
    throw new UnknownShape('cron.fields', 'The response contains no cron_job_id.', describeJson(body));
  }
  return id;
}
