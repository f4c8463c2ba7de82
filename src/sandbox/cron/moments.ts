import { Cron } from 'croner';
import type { CronJobRecord } from '../store/cron-jobs.ts';

type Schedule = CronJobRecord['schedule'];
type Field = keyof Schedule['data'];

/** What is said in a field besides numbers; croner itself knows more, all of it about days of a month. */
const WORDS: Readonly<Record<Field, RegExp>> = {
  minute: /^[\d*,/-]+$/,
  hour: /^[\d*,/-]+$/,
  day_of_week: /^([\d*,/-]|sun|mon|tue|wed|thu|fri|sat)+$/i,
};

function cronOf({ minute, hour, day_of_week }: Schedule['data'], timezone: string): Cron {
  return new Cron(`${minute} ${hour} * * ${day_of_week}`, { timezone, paused: true, mode: '5-part' });
}

/** What is wrong with a field of a schedule; undefined when it is a cron field. */
export function fieldProblem(field: Field, text: string): string | undefined {
  const message = `must be a cron field for ${field.replaceAll('_', ' ')}`;
  if (!WORDS[field].test(text)) return message;
  try {
    cronOf({ minute: '*', hour: '*', day_of_week: '*', [field]: text }, 'UTC');
    return undefined;
  } catch (error) {
    return error instanceof Error ? `${message} (${error.message})` : message;
  }
}

/** Whether the text is a timezone by name. An offset is none: it would not follow summer time. */
export function isTimezone(text: string): boolean {
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * The first moment of a schedule after another, in milliseconds since the epoch. Where the clocks go forward, a job with
 * one moment a day that falls into the gap runs at its end; where they go back, it runs once, the first time. Jobs with
 * wildcards, lists or ranges go on by the clock on the wall: they leave the gap out and go through the hour that comes
 * twice both times.
 */
export function nextMoment({ data, timezone }: Schedule, after: number): number | undefined {
  return cronOf(data, timezone).nextRun(new Date(after))?.getTime();
}
