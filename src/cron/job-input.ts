import type { Http } from '../api/http.ts';
import {
  type AgentReference,
  parseAgentReference,
  parseReference,
  resolveAgentId,
  resolveSpaceId,
} from '../api/references.ts';
import type { Args } from '../cli/command.ts';
import { parseTextArgument, type TextSource } from '../cli/input.ts';
import { UsageError } from '../errors.ts';
import { identifierProblem } from '../yaml/schema.ts';
import { type CronSchedule, parseExpression, parseFields } from './schedule.ts';
import { ScheduleError } from './schedule-error.ts';
import { parseTimezone } from './time-zone.ts';

/** One job as typed on the command line. */
export interface JobInput extends AgentInput {
  readonly name: string;
  readonly instructions: TextSource;
  readonly schedule: CronSchedule;
}

const FIELD_FLAGS = ['minute', 'hour', 'day-of-week'] as const;

function required(words: Args, flag: string): string {
  const value = words.value(flag);
  if (value?.trim()) return value;
  throw new UsageError(value === undefined ? `--${flag} is missing.` : `--${flag} is empty.`, {
    hint: 'Or describe the jobs in a file and give it with -f.',
  });
}

/** `--agent`, with `--space` where it is a name. @throws UsageError */
export function agentInput(words: Args): AgentInput {
  const agent = parseAgentReference(required(words, 'agent'));
  const space = words.value('space');
  if (agent.by === 'name' && !space) {
    throw new UsageError('An agent is found by its name only within a space.', {
      hint: 'Add --space <space_id | ext:<id> | name:<name>>, or name the agent by its agent_id.',
    });
  }
  if (agent.by === 'id' && space !== undefined) {
    throw new UsageError('--space goes with --agent name:<name>; an agent_id needs none.');
  }
  return { agent, space };
}

function fieldsOf(words: Args) {
  const expression = words.value('schedule');
  const given = FIELD_FLAGS.filter((flag) => words.value(flag) !== undefined);
  if (expression !== undefined && given.length > 0) {
    throw new UsageError(`--schedule and --${given[0]} exclude each other.`);
  }
  if (expression !== undefined) return parseExpression(expression);
  if (given.length === 0) {
    throw new UsageError('There is no schedule.', {
      hint: "Give --schedule '0 9 * * 1-5', or --minute and --hour, and --day-of-week where it is not every day.",
    });
  }
  return parseFields({
    minute: words.value('minute'),
    hour: words.value('hour'),
    day_of_week: words.value('day-of-week'),
  });
}

/** What is wrong with a schedule, said of the flag that it was given with. */
function scheduleMistake(error: ScheduleError, words: Args): UsageError {
  const inExpression = words.value('schedule') !== undefined && error.field !== 'timezone';
  const flag = inExpression ? 'schedule' : error.field.replaceAll('_', '-');
  const isOfField = inExpression && error.field !== 'schedule';
  const said = isOfField ? error.message : error.message.replace(/^[\w ]+: /, '');
  const hint = error.hint && error.hint.charAt(0).toUpperCase() + error.hint.slice(1);
  return new UsageError(`--${flag}: ${said}`, { hint, cause: error });
}

/** The schedule that the flags say. @throws UsageError that says which field is wrong, and what is allowed */
function scheduleInput(words: Args): CronSchedule {
  try {
    return { ...fieldsOf(words), timezone: parseTimezone(words.value('timezone') ?? 'UTC') };
  } catch (error) {
    if (error instanceof ScheduleError) throw scheduleMistake(error, words);
    throw error;
  }
}

function nameInput(words: Args): string {
  const name = required(words, 'name');
  const fault = identifierProblem(name);
  if (fault === undefined) return name;
  throw new UsageError(`--name ${fault}.`, { hint: 'A job is known by its name, so it is taken as it stands.' });
}

/** A job out of the words typed. @throws UsageError */
export function jobInput(words: Args): JobInput {
  return {
    ...agentInput(words),
    name: nameInput(words),
    instructions: parseTextArgument('--instructions', required(words, 'instructions')),
    schedule: scheduleInput(words),
  };
}

/** Which agent a job is for: by id, or by name within a space. */
export interface AgentInput {
  readonly agent: AgentReference;
  /** As typed; needed for a name. */
  readonly space: string | undefined;
}

/** Looks agents up, each reference once. */
export class AgentFinder {
  private readonly http: Http;
  private readonly spaces = new Map<string, Promise<string>>();
  private readonly agents = new Map<string, Promise<string>>();

  constructor(http: Http) {
    this.http = http;
  }

  /** The agent's id. @throws NotFoundError, UsageError as `findSpaceId` and `findAgentId` do */
  async find({ agent, space = '' }: AgentInput): Promise<string> {
    if (agent.by === 'id') return agent.value;
    const spaceId = this.spaces.get(space) ?? resolveSpaceId(this.http, parseReference(space));
    this.spaces.set(space, spaceId);
    const key = JSON.stringify([space, agent.value]);
    const agentId = this.agents.get(key) ?? spaceId.then((id) => resolveAgentId(this.http, id, agent));
    this.agents.set(key, agentId);
    return await agentId;
  }
}
