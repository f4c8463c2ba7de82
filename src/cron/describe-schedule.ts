import type { Clock } from '../platform/clock.ts';
import { type CronSchedule, formatExpression, normalizeFields } from './schedule.ts';

const SHOWN_RUNS = 3;

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
