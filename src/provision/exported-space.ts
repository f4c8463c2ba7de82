import * as v from 'valibot';
import { ROUTING_MODES } from '../chat/chat-fields.ts';
import type { ListedAgent, ListedCronJob, ListedSpace } from '../contract/resources.ts';
import { REDACTED } from '../contract/values.ts';
import { NOT_SHOWN, toNfc } from '../cron/job.ts';
import { agentJobSchema } from '../cron/job-file.ts';
import { type CronSchedule, completeSchedule, formatExpression } from '../cron/schedule.ts';
import { InputError } from '../errors.ts';
import { identifierProblem } from '../yaml/text.ts';
import { agentSchema, type ManifestInput } from './manifest.ts';
import { toUnmanaged, type Unmanaged } from './plan.ts';
import type { SpaceFact } from './space-record.ts';

/* Describes what the service and the state have of a space as a manifest. Pure. */

type AgentInput = ManifestInput['agents'][number];
type JobInput = NonNullable<AgentInput['cron']>[number];

interface ExportedJob {
  readonly id: string;
  readonly job: JobInput;
  readonly schedule: CronSchedule;
}

export interface ExportedAgent {
  readonly listed: ListedAgent;
  readonly agent: AgentInput;
  /** By name in NFC. */
  readonly jobs: ReadonlyMap<string, ExportedJob>;
  /** The jobs that a manifest cannot describe. */
  readonly others: readonly Unmanaged[];
}

export interface ExportedSpace {
  readonly space: ListedSpace;
  readonly fact: SpaceFact | undefined;
  readonly manifest: ManifestInput;
  readonly agents: readonly ExportedAgent[];
  /** The agents that a manifest cannot describe. */
  readonly others: readonly Unmanaged[];
}

interface Found {
  readonly space: ListedSpace;
  readonly agents: readonly ListedAgent[];
  readonly jobsOf: (agentId: string) => readonly ListedCronJob[];
  /** What the state has about the space. */
  readonly fact: SpaceFact | undefined;
}

/** A text as it may be written: undefined if there is none, or if it held a secret. */
function shown(text: string | null | undefined): string | undefined {
  return text?.includes(REDACTED) ? undefined : (text ?? undefined);
}

/** By name, then by id: lists have no certain order. */
function sortByName<Item>(items: readonly Item[], keyOf: (item: Item) => readonly [string | null | undefined, string]) {
  const key = (item: Item) => keyOf(item).join('\0');
  return items.toSorted((one, other) => (key(one) < key(other) ? -1 : 1));
}

function describeJobs(listed: readonly ListedCronJob[]): Pick<ExportedAgent, 'jobs' | 'others'> {
  const jobs = new Map<string, ExportedJob>();
  const others: Unmanaged[] = [];
  const keys = listed.map(({ name }) => toNfc(name ?? ''));
  for (const found of sortByName(listed, (job) => [job.name, job.cron_job_id])) {
    const { cron_job_id: id, instructions } = found;
    const name = shown(found.name) ?? '';
    const schedule = completeSchedule(found.schedule);
    const key = toNfc(name);
    const isUnique = keys.indexOf(key) === keys.lastIndexOf(key);
    const timing = schedule && { schedule: formatExpression(schedule), timezone: schedule.timezone };
    const job = timing && { name, instructions: shown(instructions) ?? NOT_SHOWN, ...timing };
    if (schedule && isUnique && v.is(agentJobSchema, job)) jobs.set(key, { id, job, schedule });
    else others.push({ resource: 'job', id, name: found.name ?? null });
  }
  return { jobs, others };
}

function describeChat({ source }: ListedAgent): AgentInput['chat'] {
  const name = shown(source?.name);
  const routing_mode = ROUTING_MODES.find((mode) => mode === source?.routing_mode);
  return {
    ...(name !== undefined && { name }),
    ...(source?.reply_capable !== undefined && { reply_capable: source.reply_capable }),
    ...(routing_mode && { routing_mode }),
  };
}

/** @returns undefined for an agent that a manifest cannot describe */
function describeAgent(listed: ListedAgent, { jobsOf, fact }: Found): ExportedAgent | undefined {
  const record = fact?.agents.findLast(({ agent_id }) => agent_id === listed.agent_id);
  const { source_id = record?.source_id ?? null } = listed;
  const found = describeJobs(jobsOf(listed.agent_id));
  const cron = [...found.jobs.values()].map(({ job }) => job);
  const agent = {
    template_id: shown(listed.template_id) ?? record?.template_id ?? NOT_SHOWN,
    name: shown(listed.name) ?? '',
    ...(source_id !== null && { chat: describeChat(listed) }),
    ...(cron.length > 0 && { cron }),
  };
  return v.is(agentSchema, agent) ? { listed, agent, ...found } : undefined;
}

function skipReason(id: string | undefined, name: string | undefined, agents: number): string | undefined {
  if (id === undefined) return 'has no external_space_id';
  if (identifierProblem(id)) return `has an external_space_id that ${identifierProblem(id)}`;
  if (!name?.trim()) return 'has no name';
  return agents === 0 ? 'has no agents that a manifest can describe' : undefined;
}

/**
 * Describes a space as a manifest that plans nothing, the same whatever the order of the lists. What no manifest can
 * describe is in `ignore`, by its id.
 * @returns the reason, if no manifest can describe the space
 */
export function describeSpace(found: Found): ExportedSpace | InputError {
  const { space, fact } = found;
  const external_space_id = shown(space.external_space_id ?? fact?.external_space_id);
  const agents = new Map<string, ExportedAgent>();
  const others: Unmanaged[] = [];
  for (const listed of sortByName(found.agents, ({ name, agent_id }) => [name, agent_id])) {
    const described = describeAgent(listed, found);
    // Of two with the same name and template, a manifest can have one.
    const key = JSON.stringify([described?.agent.template_id, toNfc(listed.name ?? '')]);
    if (described && !agents.has(key)) agents.set(key, described);
    else others.push(toUnmanaged(listed));
  }
  const [name, description] = [shown(space.name), shown(space.description)];
  const reason = skipReason(external_space_id, name, agents.size);
  if (reason !== undefined || external_space_id === undefined || name === undefined) {
    return new InputError(`The space ${space.space_id} ${reason}, so no manifest can describe it.`);
  }
  const described = [...agents.values()];
  const ignore = [...others, ...described.flatMap((agent) => agent.others)].map(toIgnored);
  const manifest: ManifestInput = {
    external_space_id,
    space: {
      name,
      ...(description !== undefined && { description }),
      ...(typeof space.is_org_wide === 'boolean' && { is_org_wide: space.is_org_wide }),
    },
    agents: described.map(({ agent }) => agent),
    ...(ignore.length > 0 && { ignore }),
  };
  return { space, fact, manifest, agents: described, others };
}

/** The entry of `ignore` for a thing that no manifest can describe. */
export function toIgnored({ resource, id }: Unmanaged): NonNullable<ManifestInput['ignore']>[number] {
  return { resource, name: id };
}
