import { suggest } from '../platform/suggest.ts';
import { quoted } from '../yaml/quote.ts';
import { type FieldName, parseCronField, SCHEDULE_FIELDS, ScheduleError } from './cron-field.ts';
import { canonicalTimezone, parseTimezone } from './time-zone.ts';

/** The cron fields of a schedule (spec §2), in the form that is sent. */
export interface CronFields {
  readonly minute: string;
  readonly hour: string;
  readonly day_of_week: string;
}

export interface CronSchedule extends CronFields {
  /** An IANA name. */
  readonly timezone: string;
}

/** The parts of a schedule. */
export const SCHEDULE_PARTS = [...SCHEDULE_FIELDS, 'timezone'] as const;

/** A schedule of which some parts may be unknown, as a service shows it. */
export type ScheduleParts = { readonly [Part in keyof CronSchedule]?: string | undefined };

const ONLY = 'schedules of the service have only minute, hour, and day_of_week';
const DATES = 'run it daily, and let the instructions say on which dates there is something to do';
const SHAPE = 'write five fields: minute hour day-of-month month day-of-week, such as `0 9 * * 1-5`';

const NICKNAMES = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
]);

const UNSUPPORTED_NICKNAMES = ['@monthly', '@yearly', '@annually', '@reboot'];

interface Piece {
  readonly text: string;
  readonly offset: number;
}

function splitFields(text: string): Piece[] {
  return [...text.matchAll(/\S+/g)].map(({ 0: field, index }) => ({ text: field, offset: index }));
}

function fault({ text, offset }: Piece, what: string, hint?: string): ScheduleError {
  return new ScheduleError('schedule', `${quoted(text)} ${what}`, { hint, offset, length: text.length });
}

function parseNickname(nickname: Piece): CronFields {
  const name = nickname.text.toLowerCase();
  const expression = NICKNAMES.get(name);
  if (expression !== undefined) return parseExpression(expression);
  if (UNSUPPORTED_NICKNAMES.includes(name)) {
    throw fault(nickname, `is not supported: ${ONLY}`, name === '@reboot' ? undefined : DATES);
  }
  const near = suggest(name, [...NICKNAMES.keys()]);
  const hint = near === undefined ? `use one of ${[...NICKNAMES.keys()].join(', ')}` : `did you mean ${quoted(near)}?`;
  throw fault(nickname, 'is not a known short form', hint);
}

function wrongCount(fields: readonly Piece[], whole: Piece): ScheduleError {
  if (/^(?:CRON_)?TZ=/i.test(fields[0]?.text ?? '')) {
    return fault(whole, 'begins with a time zone', 'give the time zone separately');
  }
  if (fields.length === 6) {
    return fault(whole, 'has six fields: the service has no seconds', 'leave out the first field');
  }
  const count = fields.length === 1 ? '1 field' : `${fields.length} fields`;
  return fault(whole, `has ${count}, not five`, SHAPE);
}

function parseFieldAt(field: FieldName, { text, offset }: Piece): string {
  try {
    return parseCronField(field, text).text;
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    const { detail, hint, length } = error;
    throw new ScheduleError(field, detail, { hint, offset: offset + (error.offset ?? 0), length });
  }
}

function requireAny(field: Piece, what: string): void {
  if (field.text === '*' || field.text === '?') return;
  throw fault(field, `is a ${what}, but must be *: ${ONLY}`, DATES);
}

/**
 * Parses a cron expression of five fields, or one of the short forms `@hourly`, `@daily`, `@midnight` and `@weekly`.
 * The day of the month and the month must be `*`: the service's schedule has only minute, hour and day_of_week (spec §2).
 * @throws ScheduleError with the position in the text
 */
export function parseExpression(text: string): CronFields {
  const fields = splitFields(text);
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields;
  if (!minute) throw new ScheduleError('schedule', 'is empty', { hint: SHAPE });
  if (fields.length === 1 && minute.text.startsWith('@')) return parseNickname(minute);
  if (!hour || !dayOfMonth || !month || !dayOfWeek || fields.length > 5) {
    throw wrongCount(fields, { text: text.trim(), offset: minute.offset });
  }
  requireAny(dayOfMonth, 'day of the month');
  requireAny(month, 'month');
  return {
    minute: parseFieldAt('minute', minute),
    hour: parseFieldAt('hour', hour),
    day_of_week: parseFieldAt('day_of_week', dayOfWeek),
  };
}

/**
 * Parses the fields of a schedule. The day of the week defaults to every day.
 * @throws ScheduleError; its position is relative to the text of the field
 */
export function parseFields({
  minute,
  hour,
  day_of_week = '*',
}: Readonly<Record<FieldName, string | undefined>>): CronFields {
  const parse = (field: FieldName, text: string | undefined): string => {
    if (text !== undefined) return parseCronField(field, text).text;
    throw new ScheduleError(field, 'must be given', { hint: `write * for every ${field}` });
  };
  return { minute: parse('minute', minute), hour: parse('hour', hour), day_of_week: parse('day_of_week', day_of_week) };
}

/** The schedule as a cron expression of five fields: `0 9 * * 1-5`. */
export function formatExpression({ minute, hour, day_of_week }: CronFields): string {
  return `${minute} ${hour} * * ${day_of_week}`;
}

const SIZES: Readonly<Record<FieldName, number>> = { minute: 60, hour: 24, day_of_week: 7 };

function normalizeField(field: FieldName, text: string): string {
  const { values } = parseCronField(field, text);
  return values.length === SIZES[field] ? '*' : values.join(',');
}

/**
 * Normalizes a part of a schedule so that equal meanings give equal texts: a field becomes the list of its values, or `*`
 * for all of them; a time zone gets the name that this version of Node.js uses. Compare only within one run.
 * @throws ScheduleError when it cannot be read
 */
export function normalizePart(part: keyof CronSchedule, text: string): string {
  return part === 'timezone' ? canonicalTimezone(parseTimezone(text)) : normalizeField(part, text);
}

/**
 * Normalizes each field to the list of its values, or `*` for all of them.
 * @throws ScheduleError when one cannot be read
 */
export function normalizeFields({ minute, hour, day_of_week }: CronFields): CronFields {
  return {
    minute: normalizeField('minute', minute),
    hour: normalizeField('hour', hour),
    day_of_week: normalizeField('day_of_week', day_of_week),
  };
}

/**
 * The text of a schedule for hashing, the same on every version of Node.js. Equal texts mean equal schedules. Different
 * texts may, too, because a time zone can have several names: see `hasSameSchedule`.
 * @throws ScheduleError when it cannot be read
 */
export function normalizeSchedule(schedule: CronSchedule): string {
  return `${formatExpression(normalizeFields(schedule))} ${parseTimezone(schedule.timezone)}`;
}

/**
 * Simplifies fields that select one value or all values, such as `8-9/2` to 8 or `0-23` to `*`. Keeps the others as
 * written.
 */
function simplifyFields(fields: CronFields): CronFields {
  const normal = normalizeFields(fields);
  const pick = (name: FieldName): string =>
    normal[name] === '*' || /^\d+$/.test(normal[name]) ? normal[name] : fields[name];
  return { minute: pick('minute'), hour: pick('hour'), day_of_week: pick('day_of_week') };
}

/** A schedule in English: `At 09:00, Monday through Friday (Europe/Berlin)`. @throws ScheduleError when it cannot be read */
export async function describeSchedule(schedule: CronSchedule): Promise<string> {
  // Loaded on demand: cronstrue would slow down the start of every command.
  const { default: cronstrue } = await import('cronstrue');
  const description = cronstrue.toString(formatExpression(simplifyFields(schedule)), { use24HourTimeFormat: true });
  return `${description} (${schedule.timezone})`;
}
