import * as v from 'valibot';
import type { Path, YamlDocument } from '../yaml/document.ts';
import { choice, identifier, mapping, nonBlankText } from '../yaml/schema.ts';
import { toNfc } from './job.ts';
import { type CronFields, parseExpression, parseField, parseTimezone, ScheduleError } from './schedule.ts';

/** Reads a value with a parser of schedules. */
function parsedAs<Value extends string | number, Parsed>(parse: (text: string) => Parsed) {
  return v.rawTransform<Value, Parsed>(({ dataset, addIssue, NEVER }) => {
    try {
      return parse(String(dataset.value));
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      addIssue({ message: error.message });
      return NEVER;
    }
  });
}

function cronField(field: keyof CronFields, values: string) {
  return v.pipe(
    choice([v.string(), v.number()], (value) => (typeof value === 'number' ? v.number() : v.string())),
    // Before the parser: JSON Schema shows what is read, not what it becomes.
    v.description(`${values}: *, lists, ranges, and steps.`),
    parsedAs((text) => parseField(field, text)),
  );
}

export const timezone = v.pipe(
  v.string(),
  v.description('The IANA name of the time zone of the schedule. Default: UTC.'),
  parsedAs(parseTimezone),
);

const expression = v.pipe(
  v.string(),
  v.description(
    'Five fields: minute, hour, day of the month, month, day of the week. The day of the month and the month must be *.',
  ),
  parsedAs(parseExpression),
);

const byFields = v.pipe(
  mapping({
    minute: cronField('minute', 'Minutes of the hour, 0 to 59'),
    hour: cronField('hour', 'Hours of the day, 0 to 23'),
    day_of_week: v.exactOptional(
      cronField('day_of_week', 'Days, 0 to 7 (0 and 7 are Sunday) or sun to sat. Default: every day'),
      '*',
    ),
  }),
  v.description('The fields one by one.'),
);

export const jobEntries = {
  name: identifier('The name of the job, unique per agent.'),
  // A job that was created with the name of a file as its text runs forever, and no call can change it.
  instructions: v.pipe(
    nonBlankText('What the agent does on each run.'),
    v.check((text) => !/^@\S+$/.test(text.trim()), 'must be the text itself: only the flag --instructions reads @file'),
  ),
  schedule: v.pipe(
    choice([expression, byFields], (value) => (typeof value === 'object' && value !== null ? byFields : expression)),
    v.description('When the job runs.'),
  ),
  timezone: v.exactOptional(timezone),
};

export const agentJobSchema = v.pipe(
  mapping(jobEntries),
  v.description('A scheduled job of the agent. It is created after the agent is installed.'),
);

/**
 * Reports a second job with the same agent and name, in whatever Unicode form.
 * @param places the locations of earlier names, by agent and name
 */
export function checkUniqueName(document: YamlDocument, path: Path, agent: string, places: Map<string, string>): void {
  const at = [...path, 'name'];
  const key = JSON.stringify([toNfc(agent), toNfc(String(document.get(at)))]);
  const first = places.get(key);
  if (first === undefined) places.set(key, document.fileAndLine(at));
  else document.report(at, `this agent already has a job of this name at ${first}`);
}
