import { Cron } from 'croner';
import type { CronJob } from '../store/changes.ts';

type Schedule = CronJob['schedule'];
type Field = keyof Schedule['data'];

/** Longer than any useful field; a list is expanded entry by entry. */
const MAX_FIELD_LENGTH = 1_000;

/** The accepted syntax. croner accepts more, all of it about days of the month. */
const FIELD_SYNTAX: Readonly<Record<Field, RegExp>> = {
  minute: /^[\d*,/-]+$/,
  hour: /^[\d*,/-]+$/,
  day_of_week: /^([\d*,/-]|sun|mon|tue|wed|thu|fri|sat)+$/i,
};

function createCron({ minute, hour, day_of_week }: Schedule['data'], timezone: string): Cron {
  return new Cron(`${minute} ${hour} * * ${day_of_week}`, { timezone, paused: true, mode: '5-part' });
}

/** Describes what is wrong with a field of a schedule; undefined if it is a valid cron field. */
export function cronFieldProblem(field: Field, text: string): string | undefined {
  const message = `must be a cron field for ${field.replaceAll('_', ' ')}`;
  if (text.length > MAX_FIELD_LENGTH || !FIELD_SYNTAX[field].test(text)) return message;
  try {
    createCron({ minute: '*', hour: '*', day_of_week: '*', [field]: text }, 'UTC');
    return undefined;
  } catch (error) {
    return error instanceof Error ? `${message} (${error.message})` : message;
  }
}

/** Whether a text is the name of a time zone. Offsets are not allowed: they do not follow daylight saving time. */
export function isTimezone(text: string): boolean {
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * Returns when a schedule runs next after a time; both in milliseconds since the epoch.
 *
 * When clocks go forward, a job with one run a day that falls into the gap runs at the gap's end; when they go back, it
 * runs only the first time. Jobs with wildcards, lists, or ranges follow the wall clock: they skip the gap and run through
 * the repeated hour twice.
 */
export function nextRunAfter({ data, timezone }: Schedule, after: number): number | undefined {
  return createCron(data, timezone).nextRun(new Date(after))?.getTime();
}
