import * as v from 'valibot';
import { describePath } from '../yaml/check.ts';
import type { Path, YamlDocument } from '../yaml/document.ts';
import { quoted } from '../yaml/quote.ts';
import { choice, identifier, nonBlankText } from '../yaml/schema.ts';
import { describeAllowedValues, parseField, SCHEDULE_FIELDS, ScheduleError, TITLES } from './cron-field.ts';
import { toNfc } from './job.ts';
import { type CronSchedule, parseExpression, parseFields, parseTimezone } from './schedule.ts';

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
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
  minute: cronField('Minute', 'Minutes of the hour, 0 to 59: *, lists, ranges, and steps.'),
  hour: cronField('Hour', 'Hours of the day, 0 to 23: *, lists, ranges, and steps.'),
  day_of_week: v.exactOptional(
    cronField(
      'Day of the week',
      'Days, 0 to 7 (0 and 7 are Sunday) or sun to sat: *, lists, ranges, and steps. Default: every day.',
    ),
  ),
};

export const timezone = v.pipe(
  v.string(),
  v.title('Timezone'),
  v.description('The IANA name of the time zone of the schedule. Default: UTC.'),
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

/** A schedule in the form that the service accepts (spec §2). */
const wireSchedule = v.pipe(
  v.strictObject({
    type: v.pipe(v.picklist(['cron']), v.title('Type'), v.description('The type of the schedule.')),
    data: v.pipe(v.strictObject(fields), v.title('Fields'), v.description('The fields one by one.')),
    timezone: v.exactOptional(timezone),
  }),
  v.title('Schedule of the service'),
  v.description('A schedule in the form that the service accepts.'),
);

const noSchedule = v.never('must be text, such as "0 9 * * 1-5", or a mapping of minute, hour and day_of_week');

/** Whether the fields of a schedule are under `data`, as in the service's form. */
function isWireSchedule(schedule: Readonly<Record<string, unknown>>): boolean {
  return 'data' in schedule || 'type' in schedule;
}

const schedule = v.pipe(
  choice([expression, byFields, wireSchedule], (value) => {
    if (typeof value === 'string') return expression;
    if (!isMapping(value)) return noSchedule;
    return isWireSchedule(value) ? wireSchedule : byFields;
  }),
  v.title('Schedule'),
  v.description('When the job runs.'),
);

/** The keys of a job, without its agent. */
export const jobEntries = {
  name: identifier('Job name', 'The name of the job, unique per agent.'),
  // A job that was created with the name of a file as its text runs forever, and no call can change it.
  instructions: v.pipe(
    nonBlankText('Instructions', 'What the agent does on each run.'),
    v.check((text) => !/^@\S+$/.test(text.trim()), 'must be the text itself: only the flag --instructions reads @file'),
  ),
  schedule,
  timezone: v.exactOptional(timezone),
};

/** A job of an agent in a manifest. */
export const agentJobSchema = v.pipe(
  v.strictObject(jobEntries),
  v.title('Cron job'),
  v.description('A scheduled job of the agent. It is created after the agent is installed.'),
);

/** A job as a file describes it. */
export type DescribedJob = v.InferOutput<typeof agentJobSchema>;

/** Parses the text at a path, and reports what is wrong. Does not show a value from an environment variable: it may be a secret. */
function check(document: YamlDocument<unknown>, path: Path, parse: (text: string) => unknown): void {
  const value = document.get(path);
  if (typeof value !== 'string' && !Number.isSafeInteger(value)) return;
  try {
    parse(String(value));
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    const { field, message, detail, hint, piece } = error;
    const place = describePath(path);
    const variables = document.variables(path).join(' and ');
    if (variables === '') {
      const text = path.at(-1) === field ? `${place} ${detail}` : `${place}: ${message}`;
      document.report(path, text, hint, [piece.offset, piece.offset + piece.text.length]);
    } else {
      const allowed = field === 'timezone' || field === 'schedule' ? undefined : describeAllowedValues(field);
      document.report(path, `${place}: the value of ${variables} is not a valid ${TITLES[field]}`, allowed);
    }
  }
}

/** Checks the time zone at a path of a document, if it is set. */
export function checkTimezone(document: YamlDocument<unknown>, path: Path): void {
  if (typeof document.get(path) === 'string') check(document, path, parseTimezone);
}

/**
 * Checks what the schema cannot: the cron fields and the time zone of a job.
 * @param path the path of the job
 */
export function checkSchedule(document: YamlDocument<unknown>, path: Path): void {
  const own = [...path, 'timezone'];
  checkTimezone(document, own);
  const at = [...path, 'schedule'];
  const schedule = document.get(at);
  if (typeof schedule === 'string') check(document, at, parseExpression);
  if (!isMapping(schedule)) return;
  const holder = isWireSchedule(schedule) ? [...at, 'data'] : at;
  for (const field of SCHEDULE_FIELDS) check(document, [...holder, field], (text) => parseField(field, text));
  const inner = [...at, 'timezone'];
  checkTimezone(document, inner);
  if (document.get(own) !== undefined && document.get(inner) !== undefined) {
    document.report(own, `the time zone is set twice, first at ${document.location(inner)}`, 'remove one of them');
  }
}

/**
 * Reports a second job with the same agent and name, in whatever Unicode form.
 * @param places the locations of earlier names, by agent and name
 */
export function checkUniqueName(
  document: YamlDocument<unknown>,
  path: Path,
  agent: string,
  places: Map<string, string>,
): void {
  const at = [...path, 'name'];
  const name = document.get(at);
  if (typeof name !== 'string' || name === '') return;
  const key = JSON.stringify([toNfc(agent), toNfc(name)]);
  const first = places.get(key);
  if (first === undefined) places.set(key, document.location(at));
  else {
    const job = document.variables(at).length > 0 ? 'job of this name' : `job ${quoted(name)}`;
    document.report(at, `this agent already has a ${job} at ${first}`, 'give each job of an agent its own name');
  }
}

/**
 * Converts the schedule of a job in a file.
 * @param defaultTimezone for a job without a time zone
 * @throws ScheduleError if the schedule is invalid; never for a job that passed `checkSchedule`
 */
export function toSchedule(
  { schedule, timezone }: Pick<DescribedJob, 'schedule' | 'timezone'>,
  defaultTimezone = 'UTC',
): CronSchedule {
  if (typeof schedule === 'string') {
    return { ...parseExpression(schedule), timezone: parseTimezone(timezone ?? defaultTimezone) };
  }
  const { minute, hour, day_of_week = '*' } = 'data' in schedule ? schedule.data : schedule;
  const fields = parseFields({ minute: String(minute), hour: String(hour), day_of_week: String(day_of_week) });
  return { ...fields, timezone: parseTimezone(timezone ?? schedule.timezone ?? defaultTimezone) };
}
