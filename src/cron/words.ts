import { parseField } from './field.ts';
import { type CronFields, type CronSchedule, expressionOf, normalisedFields } from './schedule.ts';

/** As it was written, but for texts of a single value, or of all: an hour of 8-9/2 reads better as 8, and one of 0-23 as every hour. */
function plainest(fields: CronFields): CronFields {
  const normal = normalisedFields(fields);
  const pick = (name: keyof CronFields): string =>
    normal[name] === '*' || parseField(name, fields[name]).values.length === 1 ? normal[name] : fields[name];
  return { minute: pick('minute'), hour: pick('hour'), day_of_week: pick('day_of_week') };
}

/** A schedule in English words: `At 09:00, Monday through Friday (Europe/Berlin)`. Throws ScheduleError where it cannot be read. */
export async function inWords(schedule: CronSchedule): Promise<string> {
  // Loaded when it is needed: it would weigh on the start of every command.
  const { default: cronstrue } = await import('cronstrue');
  const words = cronstrue.toString(expressionOf(plainest(schedule)), { use24HourTimeFormat: true });
  return `${words} (${schedule.timezone})`;
}
