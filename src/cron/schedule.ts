import type { WireSchedule } from '../contract/resources.ts';
import type { Clock } from '../platform/clock.ts';
import { suggest } from '../platform/text.ts';
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

/** A schedule that is invalid or not supported by the service. The message names the field, and the hint the way out. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

const SHAPE =
  'Write minute, hour, day of month, month, and day_of_week, such as "0 9 * * mon-fri" or "*/30 8-18 * * *"; or @hourly, @daily, or @weekly.';
const EXPRESSION = ['minute', 'hour', 'day of month', 'month', 'day_of_week'];

const SHORT_FORMS = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
]);
/** What a field may hold, in words. */
export const FIELD_VALUES = { minute: '0 to 59', hour: '0 to 23', day_of_week: '0 to 7, or sun to sat' } as const;
/** The highest number of each field, and the number of different ones: 7 is Sunday, as 0. */
const HIGHEST = { minute: 59, hour: 23, day_of_week: 7 } as const;
const SIZE = { minute: 60, hour: 24, day_of_week: 7 } as const;
const RANGE = /^(?:\*|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/;
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const SHOWN_RUNS = 3;

/** The schedule as a cron expression of five fields: `0 9 * * 1-5`. */
export function formatExpression({ minute, hour, day_of_week }: CronFields): string {
  return `${minute} ${hour} * * ${day_of_week}`;
}

/** Replaces names of days: Sunday is 0, and 7 at the end of a range. Removes leading zeros. */
function toNumbers(field: FieldName, typed: string): string {
  const text = typed
    .trim()
    .toLowerCase()
    .replace(/\b0+(?=\d)/g, '');
  if (field !== 'day_of_week') return text;
  return text
    .replace(/-sun\b/g, '-7')
    .replace(/\b[a-z]+\b/g, (name) => (DAYS.includes(name) ? String(DAYS.indexOf(name)) : name));
}

/** The values that an item of a list selects. @throws ScheduleError that says why there are none */
function valuesOf(field: FieldName, typed: string): readonly number[] {
  const [highest, values] = [HIGHEST[field], FIELD_VALUES[field]];
  const fail = (why: string, hint: string) => new ScheduleError(`${field} ${why}`, hint);
  const item = toNumbers(field, typed);
  const [matched, first, last = first, step = '1'] = RANGE.exec(item) ?? [];
  if (matched === undefined) {
    throw fail(
      `${quoted(typed)} is not valid`,
      `Write * or ${values}; or lists, ranges, and steps: 1,3 or 1-5 or */2.`,
    );
  }
  const [from, to, by] = [Number(first ?? 0), Number(last ?? highest), Number(step)];
  if (from > highest || to > highest) throw fail(`${typed} is out of range (0-${highest})`, `Write ${values}.`);
  if (from > to) throw fail(`${typed} runs backwards`, `Write ${from}-${SIZE[field] - 1},0-${to}.`);
  if (by === 0) throw fail(`${typed} has the step 0`, 'Write a step of 1 or more.');
  if (/^\d+\//.test(item)) throw fail(`${typed} has a step without a range`, `Write ${from}-${SIZE[field] - 1}/${by}.`);
  return Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, index) => from + index * by);
}

/** The values that a field selects, ascending. @throws ScheduleError */
function selectValues(field: FieldName, text: string): readonly number[] {
  const values = text.split(',').flatMap((item) => valuesOf(field, item));
  return [...new Set(values.map((value) => value % SIZE[field]))].sort((one, other) => one - other);
}

/** Parses a field. @returns it as sent: numbers for names, no leading zeros, and 0 for Sunday @throws ScheduleError */
export function parseField(field: FieldName, text: string): string {
  const values = selectValues(field, text);
  const numbers = text
    .split(',')
    .map((item) => toNumbers(field, item))
    .join(',');
  return field === 'day_of_week' && numbers.includes('7') ? values.join(',') : numbers;
}

/** Writes a field as the list of its values, or as `*` for all of them. @throws ScheduleError */
function normalizeField(field: FieldName, text: string): string {
  const values = selectValues(field, text);
  return values.length === SIZE[field] ? '*' : values.join(',');
}

function mapFields(
  { minute, hour, day_of_week }: CronFields,
  map: (field: FieldName, text: string) => string,
): CronFields {
  return { minute: map('minute', minute), hour: map('hour', hour), day_of_week: map('day_of_week', day_of_week) };
}

/**
 * Parses a cron expression of five fields, or a short form such as `@daily`. The day of the month and the month must be
 * `*`: the service's schedule does not have them (spec §2).
 * @throws ScheduleError
 */
export function parseExpression(text: string): CronFields {
  const typed = text.trim();
  const fields = (SHORT_FORMS.get(typed.toLowerCase()) ?? typed).split(/\s+/);
  const [minute = '', hour = '', day, month, day_of_week = ''] = fields;
  if (typed.startsWith('@') && fields.length === 1) throw new ScheduleError(`${quoted(typed)} is not known`, SHAPE);
  if (fields.length !== EXPRESSION.length) {
    const missing = EXPRESSION.slice(typed === '' ? 0 : fields.length).join(', ');
    throw new ScheduleError(`${quoted(typed)} has ${missing ? `no ${missing}` : 'more than 5 fields'}`, SHAPE);
  }
  const fixed = [day, month].findIndex((value) => value !== '*' && value !== '?');
  if (fixed !== -1) {
    throw new ScheduleError(
      `${EXPRESSION[fixed + 2]} must be *: the service has only minute, hour, and day_of_week`,
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
  if (resolved === undefined) {
    const zones = Intl.supportedValuesOf('timeZone');
    const city = `/${name.toLowerCase().replaceAll(' ', '_')}`;
    const meant = zones.find((zone) => zone.toLowerCase().endsWith(city)) ?? suggest(name, zones);
    const hint = meant === undefined ? 'Use a place, such as Europe/Berlin, or UTC.' : `Did you mean ${meant}?`;
    throw new ScheduleError(`${quoted(name)} is not an IANA time zone name`, hint);
  }
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
  const cron = new Cron(formatExpression(mapFields(schedule, normalizeField)), {
    mode: '5-part',
    paused: true,
    timezone,
  });
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
