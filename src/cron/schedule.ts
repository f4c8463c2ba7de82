import { quoted } from '../yaml/quote.ts';
import { suggest } from '../yaml/suggest.ts';
import { parseField } from './cron-field.ts';
import { type FieldName, ScheduleError } from './schedule-error.ts';
import { canonicalZone, parseTimezone } from './time-zone.ts';

export { ScheduleError } from './schedule-error.ts';
export { parseTimezone } from './time-zone.ts';

/** The cron fields of a schedule (spec §2), in the canonical form that goes on the wire. */
export interface CronFields {
  readonly minute: string;
  readonly hour: string;
  readonly day_of_week: string;
}

export interface CronSchedule extends CronFields {
  /** The IANA name. */
  readonly timezone: string;
}

const ONLY = 'the schedule of the service has only minute, hour and day_of_week';
const DATES = 'let it run daily, and let the instructions say on which dates there is something to do';
const SHAPE = 'five fields: minute hour day-of-month month day-of-week, such as 0 9 * * 1-5';

const NICKNAMES: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
};

const REFUSED: Readonly<Record<string, string>> = {
  '@monthly': `needs a day of the month: ${ONLY}`,
  '@yearly': `needs a month: ${ONLY}`,
  '@annually': `needs a month: ${ONLY}`,
  '@reboot': `is no moment of the week: ${ONLY}`,
};

interface Word {
  readonly text: string;
  readonly offset: number;
}

function wordsOf(text: string): Word[] {
  return [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => ({ text: word, offset: index }));
}

function fault({ text, offset }: Word, what: string, hint?: string): ScheduleError {
  return new ScheduleError('schedule', `${quoted(text)} ${what}`, { hint, offset, length: text.length });
}

function nickname(word: Word): CronFields {
  const name = word.text.toLowerCase();
  const refused = Object.hasOwn(REFUSED, name) ? REFUSED[name] : undefined;
  if (refused !== undefined) throw fault(word, refused, name === '@reboot' ? undefined : DATES);
  const expression = Object.hasOwn(NICKNAMES, name) ? NICKNAMES[name] : undefined;
  if (expression !== undefined) return parseExpression(expression);
  const known = Object.keys(NICKNAMES);
  const meant = suggest(name, known);
  const hint = meant === undefined ? `known are ${known.join(', ')}` : `did you mean ${quoted(meant)}?`;
  throw fault(word, 'is no known short form', hint);
}

function wrongCount(words: readonly Word[], whole: Word): ScheduleError {
  if (/^(?:CRON_)?TZ=/i.test(words[0]?.text ?? '')) {
    return fault(whole, 'begins with a timezone', 'the timezone is given beside the schedule');
  }
  if (words.length === 6) {
    const why = 'has six fields; the first would be seconds, and the service knows whole minutes only';
    return fault(whole, why, `leave the first one out; it takes ${SHAPE}`);
  }
  const count = words.length === 1 ? '1 field' : `${words.length} fields`;
  return fault(whole, `has ${count}, not five`, `it takes ${SHAPE}`);
}

function parseWord(field: FieldName, { text, offset }: Word): string {
  try {
    return parseField(field, text).text;
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    const { detail, hint, length } = error;
    throw new ScheduleError(field, detail, { hint, offset: offset + (error.offset ?? 0), length });
  }
}

function requireAny(word: Word, what: string): void {
  if (word.text === '*' || word.text === '?') return;
  throw fault(word, `is a ${what}, but must be *: ${ONLY}`, DATES);
}

/**
 * Reads a cron expression of five fields, or one of the short forms `@hourly`, `@daily`, `@midnight` and `@weekly`.
 * The day of the month and the month must be `*`: the service's schedule has only minute, hour and day_of_week (spec §2).
 * @throws ScheduleError with the place in the text
 */
export function parseExpression(text: string): CronFields {
  const words = wordsOf(text);
  const [minute, hour, dayOfMonth, month, dayOfWeek] = words;
  if (!minute) throw new ScheduleError('schedule', 'is empty', { hint: `it takes ${SHAPE}` });
  if (words.length === 1 && minute.text.startsWith('@')) return nickname(minute);
  if (!hour || !dayOfMonth || !month || !dayOfWeek || words.length > 5) {
    throw wrongCount(words, { text: text.trim(), offset: minute.offset });
  }
  requireAny(dayOfMonth, 'day of the month');
  requireAny(month, 'month');
  return {
    minute: parseWord('minute', minute),
    hour: parseWord('hour', hour),
    day_of_week: parseWord('day_of_week', dayOfWeek),
  };
}

/**
 * Reads the fields given one by one. Without a day of the week, every day is meant.
 * @throws ScheduleError; its place is one in the text of its field
 */
export function parseFields({
  minute,
  hour,
  day_of_week = '*',
}: Readonly<Record<FieldName, string | undefined>>): CronFields {
  const read = (field: FieldName, text: string | undefined): string => {
    if (text !== undefined) return parseField(field, text).text;
    throw new ScheduleError(field, 'is missing', { hint: 'write * for every one' });
  };
  return { minute: read('minute', minute), hour: read('hour', hour), day_of_week: read('day_of_week', day_of_week) };
}

/** The schedule as a cron expression of five fields: `0 9 * * 1-5`. */
export function formatExpression({ minute, hour, day_of_week }: CronFields): string {
  return `${minute} ${hour} * * ${day_of_week}`;
}

const SIZES: Readonly<Record<FieldName, number>> = { minute: 60, hour: 24, day_of_week: 7 };

/**
 * A part of a schedule by meaning: of a field the plain list of its values, or `*` for all of them; of a timezone one of
 * its names.
 * @throws ScheduleError where it cannot be read
 */
export function normalizePart(part: keyof CronSchedule, text: string): string {
  if (part === 'timezone') return canonicalZone(parseTimezone(text));
  const { values } = parseField(part, text);
  return values.length === SIZES[part] ? '*' : values.join(',');
}

/**
 * The fields by meaning.
 * @throws ScheduleError where one cannot be read
 */
export function normalizeFields({ minute, hour, day_of_week }: CronFields): CronFields {
  return {
    minute: normalizePart('minute', minute),
    hour: normalizePart('hour', hour),
    day_of_week: normalizePart('day_of_week', day_of_week),
  };
}

/**
 * The text of a schedule that is hashed: equal exactly where `sameSchedule` holds, on every version of Node.js.
 * @throws ScheduleError where it cannot be read
 */
export function normalizeSchedule(schedule: CronSchedule): string {
  return `${formatExpression(normalizeFields(schedule))} ${normalizePart('timezone', schedule.timezone)}`;
}

/**
 * Whether two schedules mean the same: the same minutes, hours and days, in the same timezone under whichever of its names.
 * @throws ScheduleError where one cannot be read
 */
export function isSameSchedule(one: CronSchedule, other: CronSchedule): boolean {
  return normalizeSchedule(one) === normalizeSchedule(other);
}

/** As it was written, but for texts of a single value, or of all: an hour of 8-9/2 reads better as 8, and one of 0-23 as every hour. */
function plainest(fields: CronFields): CronFields {
  const normal = normalizeFields(fields);
  const pick = (name: keyof CronFields): string =>
    normal[name] === '*' || parseField(name, fields[name]).values.length === 1 ? normal[name] : fields[name];
  return { minute: pick('minute'), hour: pick('hour'), day_of_week: pick('day_of_week') };
}

/** A schedule in English words: `At 09:00, Monday through Friday (Europe/Berlin)`. Throws ScheduleError where it cannot be read. */
export async function describeSchedule(schedule: CronSchedule): Promise<string> {
  // Loaded when it is needed: it would weigh on the start of every command.
  const { default: cronstrue } = await import('cronstrue');
  const words = cronstrue.toString(formatExpression(plainest(schedule)), { use24HourTimeFormat: true });
  return `${words} (${schedule.timezone})`;
}
