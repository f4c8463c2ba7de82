import { listAgents } from '../api/calls.ts';
import { type AgentInput, parseAgentInput, parseReference, resolveAgent, resolveSpaceId } from '../api/references.ts';
import { comparableAgent } from '../contract/values.ts';
import { UsageError } from '../errors.ts';
import { identifierProblem } from '../yaml/text.ts';
import type { CronContext } from './context.ts';
import { type CronSchedule, parseExpression, parseTimezone, ScheduleError } from './schedule.ts';

/** The names of agents, where they are known, by `comparableAgent`. */
export type AgentNames = ReadonlyMap<string, string | undefined>;

export type NamedJob = AgentInput & { readonly name: string };

type Options<Name extends string> = { readonly [Option in Name]?: string | undefined };

function parseJobAgent({ agent: typed, space }: Options<'agent' | 'space'>): AgentInput {
  if (typed === undefined) throw new UsageError('--agent is missing.');
  return parseAgentInput(typed, space);
}

/** The name of an agent that is given by name. */
export function agentName({ agent: { by, value } }: AgentInput): string | undefined {
  return by === 'name' ? value : undefined;
}

/** Reads --agent and --name; undefined without either. @throws UsageError if one is missing */
export function parseNamedJob({ name, ...agent }: Options<'agent' | 'space' | 'name'>): NamedJob | undefined {
  if ([name, agent.agent, agent.space].every((value) => value === undefined)) return undefined;
  if (name === undefined) throw new UsageError('--name is missing.');
  return { ...parseJobAgent(agent), name };
}

function parseOption<Value>(option: string, parse: (text: string) => Value, text: string): Value {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    throw new UsageError(`${option}: ${error.message}.`, { hint: error.hint, cause: error });
  }
}

export type JobOptions = Options<'agent' | 'space' | 'name' | 'schedule' | 'timezone'>;

/** Reads them. @throws UsageError that names the option and what it accepts */
export function parseJobOptions(options: JobOptions): NamedJob & { readonly schedule: CronSchedule } {
  const { name = '', schedule: expression = '', timezone: zone = 'UTC' } = options;
  const problem = identifierProblem(name);
  if (problem !== undefined) throw new UsageError(`--name ${problem}.`);
  const fields = parseOption('--schedule', parseExpression, expression);
  const timezone = parseOption('--timezone', parseTimezone, zone);
  return { ...parseJobAgent(options), name, schedule: { ...fields, timezone } };
}

/** The id of an agent. Calls the service only if a space is given. @throws as `resolveSpaceId` and `resolveAgent` */
export async function findAgent(context: CronContext, { agent, space }: AgentInput): Promise<string> {
  if (space === undefined) return agent.value;
  const http = await context.http();
  context.progress.start('Looking up the agent');
  return (await resolveAgent(http, await resolveSpaceId(http, parseReference(space)), agent)).agent_id;
}

/** Finds the agents of --agent or --space: their names, if known, by `comparableAgent`; undefined for neither. @throws as `findAgent` */
export async function findOwnerAgents(
  context: CronContext,
  { agent, space }: Options<'agent' | 'space'>,
): Promise<AgentNames | undefined> {
  if (agent !== undefined) {
    const input = parseJobAgent({ agent, space });
    return new Map([[comparableAgent(await findAgent(context, input)), agentName(input)]]);
  }
  if (space === undefined) return undefined;
  const http = await context.http();
  context.progress.start('Looking up the agents');
  const names = new Map<string, string | undefined>();
  const spaceId = await resolveSpaceId(http, parseReference(space));
  for await (const { agent_id, name } of listAgents(http, spaceId, 'show')) names.set(comparableAgent(agent_id), name);
  return names;
}
