import * as v from 'valibot';
import { choice, identifier, nonBlankText } from '../yaml/schema.ts';

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const wholeNumber = v.pipe(v.number(), v.integer('must be a whole number'));

function cronField(title: string, description: string) {
  return v.pipe(
    choice([v.string(), wholeNumber], (value) => (typeof value === 'number' ? wholeNumber : v.string())),
    v.title(title),
    v.description(description),
  );
}

const fields = {
  minute: cronField('Minute', 'Minutes of the hour, 0 to 59: *, lists, ranges and steps.'),
  hour: cronField('Hour', 'Hours of the day, 0 to 23: *, lists, ranges and steps.'),
  day_of_week: v.exactOptional(
    cronField(
      'Day of the week',
      'Days, 0 to 6 (0 and 7 are Sunday) or sun to sat: *, lists, ranges and steps. Without it: every day.',
    ),
  ),
};

export const timezone = v.pipe(
  v.string(),
  v.title('Timezone'),
  v.description('The IANA name of the timezone in which the schedule is meant. Without it: UTC.'),
);

const expression = v.pipe(
  v.string(),
  v.title('Cron expression'),
  v.description(
    'Five fields: minute, hour, day of the month, month, day of the week. The day of the month and the month must be *.',
  ),
);

const byFields = v.pipe(
  v.strictObject({ ...fields, timezone: v.exactOptional(timezone) }),
  v.title('Fields'),
  v.description('The fields one by one.'),
);

/** What the service takes (spec §2). */
const onTheWire = v.pipe(
  v.strictObject({
    type: v.pipe(v.picklist(['cron']), v.title('Type'), v.description('The type of the schedule.')),
    data: v.pipe(v.strictObject(fields), v.title('Fields'), v.description('The fields one by one.')),
    timezone: v.exactOptional(timezone),
  }),
  v.title('Schedule of the service'),
  v.description('A schedule as the service takes it.'),
);

const neither = v.never('must be text, such as "0 9 * * 1-5", or a mapping of minute, hour and day_of_week');

/** Whether the fields of a schedule stand under `data`. */
export function isWireSchedule(schedule: Readonly<Record<string, unknown>>): boolean {
  return 'data' in schedule || 'type' in schedule;
}

const schedule = v.pipe(
  choice([expression, byFields, onTheWire], (value) => {
    if (typeof value === 'string') return expression;
    if (!isMapping(value)) return neither;
    return isWireSchedule(value) ? onTheWire : byFields;
  }),
  v.title('Schedule'),
  v.description('When the job runs.'),
);

/** What a job is, whosever it is. */
export const jobEntries = {
  name: identifier('Job name', 'What the job is known by: an agent has one job of a name.'),
  instructions: nonBlankText('Instructions', 'What the agent does on each run.'),
  schedule,
  timezone: v.exactOptional(timezone),
};

/** A job of an agent in a manifest. */
export const agentJobSchema = v.pipe(
  v.strictObject(jobEntries),
  v.title('Cron job'),
  v.description('A job that the agent does again and again. It is created once the agent is installed.'),
);

export type GivenJob = v.InferOutput<typeof agentJobSchema>;
export type GivenSchedule = GivenJob['schedule'];
