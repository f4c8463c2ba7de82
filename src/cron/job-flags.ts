import { type AgentReference, parseAgentReference } from '../api/references.ts';
import { UsageError } from '../errors.ts';
import { identifierProblem } from '../yaml/identifier.ts';
import { type CronSchedule, parseExpression, parseTimezone, ScheduleError } from './schedule.ts';

/** An agent as the command line names it: by id, or by name within a space. */
export interface AgentInput {
  readonly agent: AgentReference;
  /** As typed; set exactly if the agent is given by name. */
  readonly space: string | undefined;
}

/** The values of --agent and --space. */
export interface AgentOptions {
  readonly agent?: string | undefined;
  readonly space?: string | undefined;
}

/** Reads --agent, and --space when the agent is given by name. @throws UsageError */
export function parseJobAgent({ agent: typed, space }: AgentOptions): AgentInput {
  if (typed === undefined) throw new UsageError('--agent is missing.');
  const agent = parseAgentReference(typed);
  if (agent.by === 'name' && space === undefined) {
    throw new UsageError('--agent name:<name> needs --space.', {
      hint: 'Add --space <space_id | ext:<id> | name:<name>>, or give the agent_id.',
    });
  }
  if (agent.by === 'name' || space === undefined) return { agent, space };
  throw new UsageError('--space can only be used with --agent name:<name>.');
}

/** A job as the command line selects it: by its agent and name, or, where that is possible, by its key or id. */
export type JobSelection = string | (AgentInput & { readonly name: string });

/** Reads --agent and --name, which are given together or not at all. @throws UsageError */
export function parseJobIdentity({ name, ...agent }: AgentOptions & { readonly name?: string | undefined }) {
  if (agent.agent === undefined && name === undefined) return undefined;
  if (name === undefined) throw new UsageError('--name is missing.');
  return { ...parseJobAgent(agent), name };
}

/** One job as typed on the command line, without its instructions. */
export interface TypedJob extends AgentInput {
  readonly name: string;
  readonly schedule: CronSchedule;
}

function parseOption<Value>(option: string, parse: (text: string) => Value, text: string): Value {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    throw new UsageError(`${option} ${error.message}.`, { hint: error.hint, cause: error });
  }
}

/** Reads the options that describe one job. @throws UsageError that names the option and what it accepts */
export function parseJobOptions(
  options: AgentOptions & { readonly [Option in 'name' | 'schedule' | 'timezone']?: string | undefined },
): TypedJob {
  const { name = '', schedule: expression = '', timezone: zone = 'UTC' } = options;
  const problem = name.trim() === '' ? 'is empty' : identifierProblem(name);
  if (problem !== undefined) throw new UsageError(`--name ${problem}.`);
  const fields = parseOption('--schedule', parseExpression, expression);
  const timezone = parseOption('--timezone', parseTimezone, zone);
  return { ...parseJobAgent(options), name, schedule: { ...fields, timezone } };
}
