import { type CronSchedule, formatExpression, normalizeFields } from './schedule.ts';

const MINUTE = 60_000;

/** Creates a formatter for the local time of a zone. */
function createLocalFormat(timeZone: string): Intl.DateTimeFormat {
  const two = '2-digit';
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: two,
    day: two,
    hour: two,
    minute: two,
    second: two,
  });
}

/** Formats a time as local time with its UTC offset. */
function formatWithOffset(time: Date, localFormat: Intl.DateTimeFormat): string {
  const parts = new Map(localFormat.formatToParts(time).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  const local = `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}`;
  const offset = Math.round((Date.parse(`${local}Z`) - time.getTime()) / MINUTE);
  const hours = String(Math.floor(Math.abs(offset) / 60)).padStart(2, '0');
  const minutes = String(Math.abs(offset) % 60).padStart(2, '0');
  return `${local}${offset < 0 ? '-' : '+'}${hours}:${minutes}`;
}

/**
 * The next runs of a schedule, in order.
 *
 * When clocks change, croner's rules apply, which are close to those of Vixie cron:
 * - A schedule with one time per day runs right after the gap if its time does not exist, and only once if its time exists
 *   twice.
 * - Other schedules follow the clock: times that do not exist are skipped, and times that exist twice run twice.
 * Which rule applies depends on the meaning of the schedule, not on how it is written.
 * @param after milliseconds since 1970; a run at exactly this time is excluded
 * @returns ISO 8601 with the zone's offset at that time: `2026-03-29T09:00:00+02:00`
 * @throws ScheduleError when the schedule cannot be read
 */
export async function nextRuns(schedule: CronSchedule, after: number, count: number): Promise<string[]> {
  // Loaded on demand, as cronstrue.
  const { Cron } = await import('croner');
  const { timezone } = schedule;
  const expression = formatExpression(normalizeFields(schedule));
  const options = { mode: '5-part', paused: true } as const;
  if (timezone === 'UTC') {
    // Without the data of time zones, which takes long to load.
    const runs = new Cron(expression, { ...options, utcOffset: 0 }).nextRuns(count, new Date(after));
    return runs.map((time) => time.toISOString().replace('.000Z', '+00:00'));
  }
  const cron = new Cron(expression, { ...options, timezone });
  const localFormat = createLocalFormat(timezone);
  return cron.nextRuns(count, new Date(after)).map((time) => formatWithOffset(time, localFormat));
}
