import type { Path } from '../yaml/document-value.ts';
import { describePath } from '../yaml/issue-message.ts';
import { quoted } from '../yaml/quote.ts';
import type { YamlDocument } from '../yaml/read.ts';
import { describeAllowedValues, FIELD_NAMES, parseField } from './cron-field.ts';
import { type GivenJob, type GivenSchedule, isWireSchedule } from './job-schema.ts';
import { type CronFields, type CronSchedule, parseExpression, parseFields } from './schedule.ts';
import { ScheduleError, TITLES } from './schedule-error.ts';
import { parseTimezone } from './time-zone.ts';

const DEFAULT_TIMEZONE = 'UTC';

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a variable holds may be a secret: of such a text, only what is allowed is said. */
function reportFault(document: YamlDocument<unknown>, path: Path, error: ScheduleError): void {
  const variables = document.variables(path);
  const { message, detail, field, hint, offset = 0, length = 0 } = error;
  if (variables.length === 0) {
    const said = path.at(-1) === field ? `${describePath(path)} ${detail}` : `${describePath(path)}: ${message}`;
    document.report(path, said, hint, [offset, offset + length]);
    return;
  }
  const allowed = field === 'timezone' || field === 'schedule' ? undefined : describeAllowedValues(field);
  document.report(
    path,
    `${describePath(path)}: what ${variables.join(' and ')} holds cannot be read as a ${TITLES[field]}`,
    allowed,
  );
}

function attempt(document: YamlDocument<unknown>, path: Path, parse: (text: string) => unknown): void {
  const value = document.get(path);
  if (typeof value !== 'string' && !Number.isSafeInteger(value)) return;
  try {
    parse(String(value));
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    reportFault(document, path, error);
  }
}

/** Checks the text of a timezone in a document, where there is one. */
export function reviewTimezone(document: YamlDocument<unknown>, path: Path): void {
  if (typeof document.get(path) === 'string') attempt(document, path, parseTimezone);
}

/**
 * Checks what a schema cannot say about the schedule and the timezone of a job in a document.
 * @param path of the job
 */
export function reviewSchedule(document: YamlDocument<unknown>, path: Path): void {
  const own = [...path, 'timezone'];
  reviewTimezone(document, own);
  const at = [...path, 'schedule'];
  const schedule = document.get(at);
  if (typeof schedule === 'string') attempt(document, at, parseExpression);
  if (!isRecord(schedule)) return;
  const holder = isWireSchedule(schedule) ? [...at, 'data'] : at;
  for (const field of FIELD_NAMES) attempt(document, [...holder, field], (text) => parseField(field, text));
  const inner = [...at, 'timezone'];
  reviewTimezone(document, inner);
  if (document.get(own) !== undefined && document.get(inner) !== undefined) {
    document.report(own, `the timezone is given twice, first at ${document.location(inner)}`, 'leave one of them out');
  }
}

/** Two jobs of one agent and name would be one job with two contents. @param places where those before it stand */
export function reviewName(
  document: YamlDocument<unknown>,
  path: Path,
  agent: string,
  places: Map<string, string>,
): void {
  const at = [...path, 'name'];
  const name = document.get(at);
  if (typeof name !== 'string' || name === '') return;
  const key = JSON.stringify([agent, name]);
  const first = places.get(key);
  if (first === undefined) places.set(key, document.location(at));
  else {
    const called = document.variables(at).length > 0 ? 'of this name' : quoted(name);
    const message = `this agent has a job ${called} already, at ${first}`;
    document.report(at, message, 'give each job of an agent a name of its own');
  }
}

function fieldsOf(given: Exclude<GivenSchedule, string>): CronFields {
  const { minute, hour, day_of_week } = 'data' in given ? given.data : given;
  const text = (value: string | number | undefined) => (value === undefined ? undefined : String(value));
  return parseFields({ minute: text(minute), hour: text(hour), day_of_week: text(day_of_week) });
}

/**
 * The schedule of a job in a file.
 * @param fallback the timezone where the job names none
 * @throws ScheduleError; never for a job whose document is free of problems
 */
export function toSchedule(
  { schedule, timezone }: Pick<GivenJob, 'schedule' | 'timezone'>,
  fallback?: string,
): CronSchedule {
  const isText = typeof schedule === 'string';
  const named = timezone ?? (isText ? undefined : schedule.timezone) ?? fallback ?? DEFAULT_TIMEZONE;
  return { ...(isText ? parseExpression(schedule) : fieldsOf(schedule)), timezone: parseTimezone(named) };
}
