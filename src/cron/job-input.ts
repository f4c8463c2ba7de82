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
import { identifierProblem } from '../yaml/identifier-problem.ts';
import { type CronSchedule, parseExpression, parseFields } from './schedule.ts';
import { ScheduleError } from './schedule-error.ts';
import { parseTimezone } from './time-zone.ts';

/** Which agent a job is for: by id, or by name within a space. */
export interface AgentInput {
  readonly agent: AgentReference;
  /** As typed; required when the agent is given by name. */
  readonly space: string | undefined;
}

/** One job as typed on the command line. */
export interface JobInput extends AgentInput {
  readonly name: string;
  readonly instructions: TextSource;
  readonly schedule: CronSchedule;
}

const FIELD_FLAGS = ['minute', 'hour', 'day-of-week'] as const;

function required(args: Args, flag: string): string {
  const value = args.required(flag);
  if (value.trim()) return value;
  throw new UsageError(`--${flag} is empty.`);
}

/** Reads `--agent`, and `--space` when the agent is given by name. @throws UsageError */
export function parseAgentInput(args: Args): AgentInput {
  const agent = parseAgentReference(required(args, 'agent'));
  const space = args.value('space');
  if (agent.by === 'name' && !space) {
    throw new UsageError('--agent name:<name> needs --space.', {
      hint: 'Add --space <space_id | ext:<id> | name:<name>>, or give the agent_id.',
    });
  }
  if (agent.by === 'id' && space !== undefined) {
    throw new UsageError('--space can only be used with --agent name:<name>.');
  }
  return { agent, space };
}

function parseScheduleFlags(args: Args) {
  const expression = args.value('schedule');
  const fieldFlags = FIELD_FLAGS.filter((flag) => args.value(flag) !== undefined);
  if (expression !== undefined && fieldFlags.length > 0) {
    throw new UsageError(`--schedule and --${fieldFlags[0]} cannot be combined.`);
  }
  if (expression !== undefined) return parseExpression(expression);
  return parseFields({
    minute: args.value('minute'),
    hour: args.value('hour'),
    day_of_week: args.value('day-of-week'),
  });
}

/** Names the flag with the invalid schedule. */
function toUsageError(error: ScheduleError, args: Args): UsageError {
  const inExpression = args.value('schedule') !== undefined && error.field !== 'timezone';
  const flag = inExpression ? 'schedule' : error.field.replaceAll('_', '-');
  const message = inExpression && error.field !== 'schedule' ? error.message : error.detail;
  const hint = error.hint && error.hint.charAt(0).toUpperCase() + error.hint.slice(1);
  return new UsageError(`--${flag}: ${message}`, { hint, cause: error });
}

function parseSchedule(args: Args): CronSchedule {
  try {
    return { ...parseScheduleFlags(args), timezone: parseTimezone(args.value('timezone') ?? 'UTC') };
  } catch (error) {
    if (error instanceof ScheduleError) throw toUsageError(error, args);
    throw error;
  }
}

function parseName(args: Args): string {
  const name = required(args, 'name');
  const problem = identifierProblem(name);
  if (problem === undefined) return name;
  throw new UsageError(`--name ${problem}.`);
}

/** Reads the flags that describe one job. @throws UsageError that names the flag and what it accepts */
export function parseJobInput(args: Args): JobInput {
  return {
    ...parseAgentInput(args),
    name: parseName(args),
    instructions: parseTextArgument('--instructions', required(args, 'instructions')),
    schedule: parseSchedule(args),
  };
}

/** Resolves agent references, each only once. */
export class AgentFinder {
  private readonly http: Http;
  private readonly spaces = new Map<string, Promise<string>>();
  private readonly agents = new Map<string, Promise<string>>();

  constructor(http: Http) {
    this.http = http;
  }

  /** The agent's id. @throws NotFoundError, UsageError as `resolveSpaceId` and `resolveAgentId` do */
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
