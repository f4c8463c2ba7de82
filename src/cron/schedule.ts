import { suggest } from '../platform/suggest.ts';
import { quoted } from '../yaml/quote.ts';
import { type FieldName, type Piece, parseField, SCHEDULE_FIELDS, ScheduleError } from './cron-field.ts';

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

export type SchedulePart = keyof CronSchedule;

/** A schedule of which some parts may be unknown, as a service shows it. */
export type ScheduleParts = { readonly [Part in SchedulePart]?: string | undefined };

export const SCHEDULE_PARTS = [...SCHEDULE_FIELDS, 'timezone'] as const;

const SHORT_FORMS = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
]);
const SHAPE =
  'write five fields: minute hour day-of-month month day-of-week, such as `0 9 * * 1-5`; or @hourly, @daily, or @weekly';

function requireAny(piece: Piece, what: string): void {
  if (piece.text === '*' || piece.text === '?') return;
  const only = 'schedules of the service have only minute, hour, and day_of_week';
  throw new ScheduleError('schedule', `is a ${what}, but must be *: ${only}`, {
    piece,
    hint: 'run it daily, and let the instructions say on which dates there is something to do',
  });
}

/**
 * Parses a cron expression of five fields, or a short form such as `@daily`. The day of the month and the month must be `*`:
 * the service's schedule does not have them (spec §2).
 * @throws ScheduleError
 */
export function parseExpression(text: string): CronFields {
  const expression = SHORT_FORMS.get(text.trim().toLowerCase()) ?? text;
  const pieces = [...expression.matchAll(/\S+/g)].map(({ 0: field, index }) => ({ text: field, offset: index }));
  const [minute, hour, day, month, dayOfWeek] = pieces;
  if (!minute || !hour || !day || !month || !dayOfWeek || pieces.length > 5) {
    const count = pieces.length === 1 ? '1 field' : `${pieces.length} fields`;
    const piece = { text: text.trim(), offset: minute?.offset ?? 0 };
    throw new ScheduleError('schedule', `has ${count}, not five`, { piece, hint: SHAPE });
  }
  requireAny(day, 'day of the month');
  requireAny(month, 'month');
  return {
    minute: parseField('minute', minute.text, minute.offset).text,
    hour: parseField('hour', hour.text, hour.offset).text,
    day_of_week: parseField('day_of_week', dayOfWeek.text, dayOfWeek.offset).text,
  };
}

function mapFields(fields: CronFields, map: (field: FieldName, text: string) => string): CronFields {
  const { minute, hour, day_of_week } = fields;
  return { minute: map('minute', minute), hour: map('hour', hour), day_of_week: map('day_of_week', day_of_week) };
}

/** Parses the fields of a schedule. @throws ScheduleError; its position is relative to the text of the field */
export function parseFields(fields: CronFields): CronFields {
  return mapFields(fields, (field, text) => parseField(field, text).text);
}

const ZONE_HINT = 'use a place, such as Europe/Berlin, or UTC';

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

/** The zone whose city is closest to a mistyped name. */
function suggestZone(text: string): string | undefined {
  const city = (zone: string): string => zone.slice(zone.lastIndexOf('/') + 1);
  const zones = Intl.supportedValuesOf('timeZone');
  const near = suggest(city(text.replace(/\s+/g, '_')), zones.map(city));
  return zones.find((zone) => city(zone) === near);
}

/**
 * Checks an IANA time zone name, in any case: `europe/berlin` becomes `Europe/Berlin`. Aliases such as `Asia/Kolkata` stay as
 * typed, so that the service gets the name that the user knows.
 * @throws ScheduleError for an offset, an abbreviation, or a name that this Node.js does not know
 */
export function parseTimezone(text: string): string {
  const piece = { text: text.trim(), offset: text.length - text.trimStart().length };
  const name = piece.text;
  const resolved = resolveZone(name);
  if (resolved === undefined) {
    const near = suggestZone(name);
    const hint = near ? `did you mean ${quoted(near)}?` : ZONE_HINT;
    throw new ScheduleError('timezone', 'is not an IANA time zone name', { piece, hint });
  }
  const isAliasAsTyped = /^[A-Z]/.test(name) && name.toLowerCase() !== resolved.toLowerCase();
  return isAliasAsTyped ? name : resolved;
}

/** The schedule as a cron expression of five fields: `0 9 * * 1-5`. */
export function formatExpression({ minute, hour, day_of_week }: CronFields): string {
  return `${minute} ${hour} * * ${day_of_week}`;
}

function normalizeField(field: FieldName, text: string): string {
  const { values, isAll } = parseField(field, text);
  return isAll ? '*' : values.join(',');
}

/** Normalizes each field to the list of its values, or `*` for all of them. @throws ScheduleError */
export function normalizeFields(fields: CronFields): CronFields {
  return mapFields(fields, normalizeField);
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
  return orUnreadable(() => ({ ...parseFields({ minute, hour, day_of_week }), timezone: parseTimezone(timezone) }));
}

/**
 * Normalizes a part of a schedule so that equal meanings give equal texts. Compare only within one run: the name of a time zone
 * is that of this version of Node.js.
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
