import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';
import { findId, readId } from './plain-fields.ts';

/** When a job runs: cron fields and a time zone, in the service's format. */
export interface WireSchedule {
  readonly minute: string;
  readonly hour: string;
  readonly day_of_week: string;
  readonly timezone: string;
}

/** A scheduled job as the service lists it. Missing and unreadable fields are undefined. */
export interface ListedCronJob {
  readonly cron_job_id: string;
  readonly agent_id: string | undefined;
  readonly name: string | undefined;
  readonly instructions: string | undefined;
  /** Also undefined for a schedule that minute, hour, and day_of_week cannot express. */
  readonly schedule: WireSchedule | undefined;
}

/** Other fields that a schedule may have. If one is restricted, WireSchedule cannot express the schedule. */
const OTHER_FIELDS = ['day_of_month', 'day', 'month', 'month_of_year', 'year', 'week'];
const ANY = ['*', '?'];
const EXPRESSION_FIELDS = ['expression', 'cron', 'cron_expression'];

function cronField(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim();
  return Number.isInteger(value) ? String(value) : undefined;
}

type Fields = Omit<WireSchedule, 'timezone'>;

/** Returns the fields if all three are present: the service's default for a missing field is unknown. */
function fromFields(place: JsonObject): Fields | undefined {
  const [minute, hour, day_of_week] = [place.minute, place.hour, place.day_of_week].map(cronField);
  if (minute === undefined || hour === undefined || day_of_week === undefined) return undefined;
  const others = OTHER_FIELDS.map((field) => place[field]).filter((value) => value !== undefined && value !== null);
  return others.every((value) => ANY.includes(String(value))) ? { minute, hour, day_of_week } : undefined;
}

/** Parses `0 9 * * 1-5`: five fields, where the day of the month and the month must be unrestricted. */
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

/** Returns the job's fields. Fields nested under the resource's name win over outer ones. */
function jobIn(item: JsonObject): JsonObject {
  return { ...item, ...[item.cron_job, item.partner_cron_job].find(isJsonObject) };
}

function scheduleOf(job: JsonObject): WireSchedule | undefined {
  // If there is no `schedule`, the fields may be on the job itself, whose `type` and `data` are not the schedule's.
  const { type: _, data: __, ...flat } = job;
  const schedule = job.schedule ?? flat;
  const fields = fieldsIn(schedule);
  const places = isJsonObject(schedule) ? [schedule, schedule.data, job] : [job];
  const timezone = places.filter(isJsonObject).find((place) => typeof place.timezone === 'string')?.timezone;
  if (fields === undefined || typeof timezone !== 'string' || timezone.trim() === '') return undefined;
  return { ...fields, timezone: timezone.trim() };
}

function agentOf({ agent_id, agent }: JsonObject): string | undefined {
  // A string in `agent` may be a name. If it were taken for an id, the job would seem to belong to another agent.
  return findId({ agent_id }, 'agent') ?? (isJsonObject(agent) ? findId(agent, 'agent') : undefined);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/**
 * Reads one job of a list (assumption `cron.fields`). Does not guess: a field that is unclear is undefined.
 * @throws UnknownShape if the job has no id
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
 * Returns the id from the response to creating a job (spec §4.5): at the top, or under data, result, job, or the
 * resource's name.
 * @throws UnknownShape if the response has no id or reports an error
 */
export function readCreatedCronJob(body: unknown): string {
  const top = isJsonObject(body) ? body : {};
  const envelopes = [top, top.data, top.result].filter(isJsonObject);
  rejectErrorInBody(body, envelopes, 'cron.fields');
  const places = envelopes.flatMap((place) => [place, place.cron_job, place.partner_cron_job, place.job]);
  const objects = places.filter(isJsonObject);
  // A plain `id` next to a nested job belongs to the envelope, so the innermost object with an id wins.
  const candidates = [...objects.filter((object) => 'cron_job_id' in object), ...objects.toReversed()];
  const id = candidates.map((object) => findId(object, 'cron_job')).find((found) => found !== undefined);
  if (id === undefined) {
    throw new UnknownShape('cron.fields', 'The response contains no cron_job_id.', describeJson(body));
  }
  return id;
}
