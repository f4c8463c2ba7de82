import { type CronSchedule, formatExpression, normalizeFields } from './schedule.ts';

const MINUTE = 60_000;

/** The clock of a zone, to be asked for many moments. */
function clockOf(timeZone: string): Intl.DateTimeFormat {
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

/** A moment as the zone's clocks show it, with their offset from UTC then. */
function withOffset(moment: Date, clock: Intl.DateTimeFormat): string {
  const parts = new Map(clock.formatToParts(moment).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  const local = `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}`;
  const offset = Math.round((Date.parse(`${local}Z`) - moment.getTime()) / MINUTE);
  const hours = String(Math.floor(Math.abs(offset) / 60)).padStart(2, '0');
  const minutes = String(Math.abs(offset) % 60).padStart(2, '0');
  return `${local}${offset < 0 ? '-' : '+'}${hours}:${minutes}`;
}

/**
 * The next runs of a schedule, in order, each moment once.
 *
 * When clocks change, croner's rules hold, which are close to those of Vixie cron:
 * - One time a day (one minute, one hour) that does not exist on a day runs at the first moment after the gap; one that
 *   exists twice runs the first time only.
 * - Other schedules follow the clock: times that do not exist are left out, and those that exist twice run both times,
 *   half an hour or an hour apart.
 * Which of the two a schedule is depends on its meaning alone, not on how it is written.
 * @param after milliseconds since 1970; a run at this very moment is not among them
 * @returns ISO 8601 with the offset of the zone at that moment: `2026-03-29T09:00:00+02:00`
 * @throws ScheduleError where the schedule cannot be read
 */
export async function nextRuns(schedule: CronSchedule, after: number, count: number): Promise<string[]> {
  const { timezone } = schedule;
  const expression = formatExpression(normalizeFields(schedule));
  // Loaded when it is needed: not every command shows runs.
  const { Cron } = await import('croner');
  const cron = new Cron(expression, { timezone, mode: '5-part', paused: true });
  const clock = clockOf(timezone);
  return cron.nextRuns(count, new Date(after)).map((moment) => withOffset(moment, clock));
}
