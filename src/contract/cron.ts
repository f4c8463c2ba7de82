import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import type { Contract } from './contract.ts';
import { normalizeName } from './field-names.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { describeJson, isJsonObject, type JsonObject, jsonText } from './json.ts';
import { findResource, layersOf } from './resource.ts';

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

/** An object's values by normalized name; the first spelling wins. */
type Named = ReadonlyMap<string, unknown>;

function namedValues(object: JsonObject): Named {
  return new Map(
    Object.entries(object)
      .map(([key, value]) => [normalizeName(key), value] as const)
      .toReversed(),
  );
}

function firstNamed(place: Named, names: readonly string[]): unknown {
  return names.map((name) => place.get(name)).find((value) => value !== undefined && value !== null);
}

const MINUTES = ['minute', 'minutes', 'min'];
const HOURS = ['hour', 'hours'];
const DAYS = ['dayofweek', 'daysofweek', 'dow', 'weekday', 'weekdays'];
/** Other fields that a schedule may have. `WireSchedule` cannot express a schedule that restricts one of them. */
const OTHER_FIELDS = ['dayofmonth', 'day', 'dom', 'month', 'monthofyear', 'year', 'week', 'second', 'seconds'];
const ANY = ['*', '?'];
const EXPRESSIONS = ['expression', 'cron', 'cronexpression', 'expr', 'crontab', 'value'];
const TYPES = ['type', 'kind'];
const CRON_TYPES = ['cron', 'crontab', 'cronexpression', 'cronschedule'];
/** Names under which a schedule nests its fields. */
const NESTED = ['data', 'cron', 'crontab', 'fields', 'spec', 'value'];

function cronField(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const fields = value.map(cronField);
    return fields.length === 0 || fields.includes(undefined) ? undefined : fields.join(',');
  }
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim();
  return Number.isInteger(value) ? String(value) : undefined;
}

type WireFields = Omit<WireSchedule, 'timezone'>;

/** Returns the fields if all three are present. The default of a missing one is unknown. */
function fromFields(place: Named): WireFields | undefined {
  const [minute, hour, day_of_week] = [MINUTES, HOURS, DAYS].map((names) => cronField(firstNamed(place, names)));
  if (minute === undefined || hour === undefined || day_of_week === undefined) return undefined;
  const others = OTHER_FIELDS.map((field) => place.get(field)).filter((value) => value !== undefined && value !== null);
  const isUnrestricted = (value: unknown) =>
    ANY.includes(jsonText(Array.isArray(value) && value.length === 1 ? value[0] : value));
  return others.every(isUnrestricted) ? { minute, hour, day_of_week } : undefined;
}

/** Parses `0 9 * * 1-5`: five fields, where the day of the month and the month must be unrestricted. */
function fromExpression(text: unknown): WireFields | undefined {
  if (typeof text !== 'string') return undefined;
  const [minute, hour, day = '', month = '', day_of_week, ...more] = text.trim().split(/\s+/);
  if (minute === undefined || hour === undefined || day_of_week === undefined || more.length > 0) return undefined;
  return ANY.includes(day) && ANY.includes(month) ? { minute, hour, day_of_week } : undefined;
}

function wireFieldsIn(schedule: unknown): WireFields | undefined {
  if (!isJsonObject(schedule)) return fromExpression(schedule);
  const place = namedValues(schedule);
  const type = firstNamed(place, TYPES);
  if (type !== undefined && !(typeof type === 'string' && CRON_TYPES.includes(normalizeName(type)))) return undefined;
  const data = NESTED.map((name) => place.get(name)).find(isJsonObject);
  if (data !== undefined) return fromFields(namedValues(data)) ?? fieldsOfExpression(namedValues(data));
  return fromFields(place) ?? fieldsOfExpression(place);
}

function fieldsOfExpression(place: Named): WireFields | undefined {
  const texts = ['data', ...EXPRESSIONS].map((name) => place.get(name));
  return fromExpression(texts.find((value) => typeof value === 'string'));
}

/** Returns the time zone of the schedule, or else of the job. */
function timezoneOf(schedule: unknown, job: Fields, contract: Contract): string | undefined {
  const inner = isJsonObject(schedule) ? [schedule, ...Object.values(schedule).filter(isJsonObject)] : [];
  const zones = [...inner.map((place) => fieldsOf(place, 'cron_job', contract)), job].map((place) =>
    place.all('cron_job.timezone').find(({ value }) => typeof value === 'string' && value.trim() !== ''),
  );
  const value = zones.find((zone) => zone !== undefined)?.value;
  return typeof value === 'string' ? value.trim() : undefined;
}

/** The fields of the job itself, without those that are not the schedule's: `type` and `data`. */
function flatSchedule({ places }: Fields): JsonObject {
  const entries = places.flatMap((place) => Object.entries(place));
  const { type: _, kind: __, data: ___, value: ____, ...flat }: JsonObject = Object.fromEntries(entries);
  const own = entries.flatMap(([key, value]) => {
    const name = normalizeName(key);
    return name.startsWith('schedule') ? [[name.slice('schedule'.length), value] as const] : [];
  });
  return { ...flat, ...Object.fromEntries(own) };
}

function parsedJson(value: unknown): unknown {
  if (typeof value !== 'string' || !value.trimStart().startsWith('{')) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function scheduleOf(job: Fields, contract: Contract): WireSchedule | undefined {
  const schedule = parsedJson(job.value('cron_job.schedule')) ?? flatSchedule(job);
  const fields = wireFieldsIn(schedule);
  return fields && { ...fields, timezone: timezoneOf(schedule, job, contract) };
}

function agentOf(job: Fields): Pick<ListedCronJob, 'agent_id' | 'agent_text'> {
  const agent_id = job.id('cron_job.agent_id');
  const agent = job.places
    .map((place) => firstNamed(namedValues(place), ['agent', 'assistant']))
    .find((each) => each !== undefined);
  // A string in `agent` may be a name. Taken for an id, it would assign the job to another agent.
  if (agent_id !== undefined || typeof agent === 'string') {
    return { agent_id, agent_text: typeof agent === 'string' ? agent : undefined };
  }
  if (typeof agent === 'number') return { agent_id: String(agent), agent_text: undefined };
  return { agent_id: job.shownText('cron_job.agent_id'), agent_text: undefined };
}

/**
 * Reads one job of a list. A schedule that is not clear is undefined.
 * @throws UnknownShape if the job has no id, or if its name or agent was sent and cannot be read
 */
export function readCronJob(item: JsonObject, contract: Contract): ListedCronJob {
  const job = fieldsOf(item, 'cron_job', contract);
  const name = job.shownText('cron_job.name');
  const instructions = job.all('cron_job.instructions').find(({ value }) => typeof value === 'string')?.value;
  return {
    cron_job_id: job.readId('cron_job.id'),
    ...agentOf(job),
    name: name ?? (job.value('cron_job.name') === null ? null : undefined),
    instructions: typeof instructions === 'string' ? instructions : undefined,
    schedule: scheduleOf(job, contract),
  };
}

const NO_ID = 'The response contains no cron_job_id.';
/**
 * Returns the id from the response to creating a job (spec §4.5).
 * @throws UnknownShape if the response has no id or reports an error
 */
export function readCreatedCronJob(body: unknown, contract: Contract): string {
  const layers = layersOf(body, 'cron_job');
  rejectErrorInBody(body, layers, 'cron.fields');
  const job = findResource(layers, 'cron_job', 'cron_job.id', contract);
  if (job) return job.id;
  if (isJsonObject(body)) throw fieldsOf(body, 'cron_job', contract).unreadable('cron_job.id', NO_ID);
  throw new UnknownShape('cron.fields', NO_ID, describeJson(body));
}
