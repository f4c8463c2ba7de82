import type { WireSchedule } from '../contract/resources.ts';
import type { Clock } from '../platform/clock.ts';
import { quoted } from '../yaml/text.ts';

/** The cron fields of a schedule (spec §2), in the form that is sent. */
export type CronFields = Omit<WireSchedule, 'timezone'>;

export interface CronSchedule extends WireSchedule {
  /** An IANA name. */
  readonly timezone: string;
}

type FieldName = keyof CronFields;
export type SchedulePart = keyof CronSchedule;

/** A schedule of which some parts may be unknown, as a service shows it. */
export type ScheduleParts = { readonly [Part in SchedulePart]?: string | undefined };

export const SCHEDULE_PARTS = ['minute', 'hour', 'day_of_week', 'timezone'] as const;

/** A schedule that is invalid or not supported by the service. The message follows the name of the value. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

const SHAPE =
  'Write minute, hour, day of month, month, and day of week, such as "0 9 * * mon-fri" or "*/30 8-18 * * *"; or @hourly, @daily, or @weekly.';
const ZONE_HINT = 'Use a place, such as Europe/Berlin, or UTC.';

const SHORT_FORMS = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
]);
/** The highest number of each field, and the number of different ones: 7 is Sunday, as 0. */
const HIGHEST = { minute: 59, hour: 23, day_of_week: 7 } as const;
const SIZE = { minute: 60, hour: 24, day_of_week: 7 } as const;
const RANGE = /^(?:\*|(\d+)-(\d+))(?:\/([1-9]\d*))?$/;
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const SHOWN_RUNS = 3;

/** The schedule as a cron expression of five fields: `0 9 * * 1-5`. */
export function formatExpression({ minute, hour, day_of_week }: CronFields): string {
  return `${minute} ${hour} * * ${day_of_week}`;
}

/** Replaces the names of days, of which Sunday is 0, and 7 at the end of a range; and removes leading zeros. */
function toNumbers(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/-sun\b/g, '-7')
    .replace(/\b[a-z]+\b/g, (name) => (DAYS.includes(name) ? String(DAYS.indexOf(name)) : name))
    .replace(/\b0+(?=\d)/g, '');
}

/** The values that an item of a list selects; none if it is not valid. */
function valuesOf(item: string, highest: number): readonly number[] {
  const range = RANGE.exec(/^\d+$/.test(item) ? `${item}-${item}` : item);
  if (!range) return [];
  const [, first = 0, last = highest, step = 1] = range;
  const values: number[] = [];
  if (Number(last) > highest) return values;
  for (let value = Number(first); value <= Number(last); value += Number(step)) values.push(value);
  return values;
}

/** The values that a field selects, ascending. @param text with numbers for names @throws ScheduleError */
function selectValues(field: FieldName, text: string): readonly number[] {
  const highest = HIGHEST[field];
  const items = text.split(',').map((item) => valuesOf(item, highest));
  if (items.some(({ length }) => length === 0)) {
    const name = field.replaceAll('_', ' ');
    const allowed = `*, or numbers from 0 to ${highest} in lists, ranges, and steps`;
    throw new ScheduleError(`is not valid: ${name} must be ${allowed}, not ${quoted(text)}`, SHAPE);
  }
  // Sunday is 0, and 7.
  const values = items.flat().map((value) => (field === 'day_of_week' ? value % 7 : value));
  return [...new Set(values)].sort((one, other) => one - other);
}

/** Parses a field. @returns it as sent: numbers for names, no leading zeros, and 0 for Sunday @throws ScheduleError */
export function parseField(field: FieldName, text: string): string {
  const numbers = toNumbers(text);
  const values = selectValues(field, numbers);
  return field === 'day_of_week' && numbers.includes('7') ? values.join(',') : numbers;
}

/** Writes a field as the list of its values, or as `*` for all of them. @throws ScheduleError */
function normalizeField(field: FieldName, text: string): string {
  const values = selectValues(field, toNumbers(text));
  return values.length === SIZE[field] ? '*' : values.join(',');
}

function mapFields(
  { minute, hour, day_of_week }: CronFields,
  map: (field: FieldName, text: string) => string,
): CronFields {
  return { minute: map('minute', minute), hour: map('hour', hour), day_of_week: map('day_of_week', day_of_week) };
}

/** Normalizes each field, so that equal meanings give equal texts. @throws ScheduleError */
export function normalizeFields(fields: CronFields): CronFields {
  return mapFields(fields, normalizeField);
}

/**
 * Parses a cron expression of five fields, or a short form such as `@daily`. The day of the month and the month must be
 * `*`: the service's schedule does not have them (spec §2).
 * @throws ScheduleError
 */
export function parseExpression(text: string): CronFields {
  const expression = SHORT_FORMS.get(text.trim().toLowerCase()) ?? text;
  const [minute, hour, day, month, day_of_week, ...more] = expression.trim().split(/\s+/);
  if (minute === undefined || hour === undefined || day_of_week === undefined || more.length > 0) {
    throw new ScheduleError(`does not have five fields: ${quoted(text)}`, SHAPE);
  }
  for (const each of [day, month]) {
    if (each === '*' || each === '?') continue;
    throw new ScheduleError(
      'must have * as the day of the month and as the month: the service has only minute, hour, and day of week',
      'Run it daily, and let the instructions say on which dates there is something to do.',
    );
  }
  return mapFields({ minute, hour, day_of_week }, parseField);
}

/** The three-letter IANA names. Node.js also accepts abbreviations with surprising meanings: BST is Bangladesh. */
const THREE_LETTER_ZONES = 'UTC GMT UCT CET EET MET WET EST MST HST PRC ROC ROK'.split(' ');

/** The name that this version of Node.js uses for all names of a time zone; undefined for an unknown one. */
function resolveZone(name: string): string | undefined {
  // The default. Loading the data of all zones takes 6 ms.
  if (name.toUpperCase() === 'UTC') return 'UTC';
  // Newer versions of Node.js take offsets, which have no daylight saving time.
  if (/^[+-]/.test(name) || (/^[a-z]{3}$/i.test(name) && !THREE_LETTER_ZONES.includes(name.toUpperCase()))) {
    return undefined;
  }
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/**
 * Checks an IANA time zone name, in any case: `europe/berlin` becomes `Europe/Berlin`. Aliases such as `Asia/Kolkata`
 * stay as typed, so that the service gets the name that the user knows.
 * @throws ScheduleError for an offset, an abbreviation, or a name that this Node.js does not know
 */
export function parseTimezone(text: string): string {
  const name = text.trim();
  const resolved = resolveZone(name);
  if (resolved === undefined) throw new ScheduleError(`is not an IANA time zone name: ${quoted(name)}`, ZONE_HINT);
  const isAliasAsTyped = /^[A-Z]/.test(name) && name.toLowerCase() !== resolved.toLowerCase();
  return isAliasAsTyped ? name : resolved;
}

function orUnreadable<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ScheduleError) return undefined;
    throw error;
  }
}

/** The schedule; undefined if a part is missing or cannot be read. */
export function completeSchedule(parts: ScheduleParts | null | undefined): CronSchedule | undefined {
  const { minute, hour, day_of_week, timezone } = parts ?? {};
  if (minute === undefined || hour === undefined || day_of_week === undefined || timezone === undefined) {
    return undefined;
  }
  return orUnreadable(() => ({
    ...mapFields({ minute, hour, day_of_week }, parseField),
    timezone: parseTimezone(timezone),
  }));
}

/**
 * Normalizes a part of a schedule so that equal meanings give equal texts. Compare only within one run: the name of a
 * time zone is that of this version of Node.js.
 * @returns undefined if it cannot be read
 */
export function normalizePart(part: SchedulePart, text: string): string | undefined {
  return orUnreadable(() =>
    part === 'timezone' ? (resolveZone(parseTimezone(text)) ?? text) : normalizeField(part, text),
  );
}

/** Converts a schedule to the form of the service (spec §2). */
export function toWireSchedule({ minute, hour, day_of_week, timezone }: CronSchedule) {
  return { type: 'cron', data: { minute, hour, day_of_week }, timezone } as const;
}

/** Formats times as local times of a zone with their offsets: `2026-03-29T09:00:00+02:00`. */
function createTimeFormat(timeZone: string): (time: Date) => string {
  const two = '2-digit';
  const clock = { hour: two, minute: two, second: two, hourCycle: 'h23', timeZoneName: 'longOffset' } as const;
  const format = new Intl.DateTimeFormat('en-US', { timeZone, year: 'numeric', month: two, day: two, ...clock });
  return (time) => {
    const part = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]));
    const offset = part.timeZoneName?.slice('GMT'.length) || '+00:00';
    return `${part.year}-${part.month}-${part.day}T${part.hour}:${part.minute}:${part.second}${offset}`;
  };
}

/**
 * The next runs of a schedule. When clocks change, croner's rules apply, which are close to those of Vixie cron: one
 * time per day runs right after a gap, and once if it exists twice; others follow the clock.
 * croner refuses some steps that are valid in the normalized form.
 * @param after milliseconds since 1970; a run at exactly this time is excluded
 * @returns ISO 8601 with the zone's offset at that time
 * @throws ScheduleError if the schedule cannot be read
 */
export async function nextRuns(schedule: CronSchedule, after: number, count: number): Promise<string[]> {
  const { Cron } = await import('croner');
  const { timezone } = schedule;
  const cron = new Cron(formatExpression(normalizeFields(schedule)), { mode: '5-part', paused: true, timezone });
  return cron.nextRuns(count, new Date(after)).map(createTimeFormat(timezone));
}

/** A schedule in English: `At 09:00, Monday through Friday (Europe/Berlin)`. */
export async function describeSchedule(schedule: CronSchedule): Promise<string> {
  const { default: cronstrue } = await import('cronstrue');
  const description = cronstrue.toString(formatExpression(schedule), { use24HourTimeFormat: true });
  return `${description} (${schedule.timezone})`;
}

export interface ScheduleTexts {
  readonly description: string;
  readonly next_runs: readonly string[];
}

export type DescribeSchedule = (schedule: CronSchedule) => Promise<ScheduleTexts>;

/** Returns a function that describes each schedule once: jobs share schedules, and finding the next runs takes long. */
export function createScheduleDescriber(clock: Pick<Clock, 'now'>): DescribeSchedule {
  const known = new Map<string, ScheduleTexts>();
  return async (schedule) => {
    const key = `${formatExpression(schedule)} ${schedule.timezone}`;
    const texts = known.get(key) ?? {
      description: await describeSchedule(schedule),
      next_runs: await nextRuns(schedule, clock.now(), SHOWN_RUNS),
    };
    known.set(key, texts);
    return texts;
  };
}
