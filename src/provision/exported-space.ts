import * as v from 'valibot';
import { ROUTING_MODES } from '../contract/chat-fields.ts';
import type { ListedAgent, ListedCronJob, ListedSpace } from '../contract/resources.ts';
import { REDACTED } from '../contract/values.ts';
import { NOT_SHOWN, toNfc } from '../cron/job.ts';
import { agentJobSchema } from '../cron/job-file.ts';
import { completeSchedule, formatExpression } from '../cron/schedule.ts';
import { InputError } from '../errors.ts';
import type { SpaceFact } from '../state/space-record.ts';
import { identifierProblem } from '../yaml/text.ts';
import { hasName, type Unmanaged } from './differences.ts';
import { agentSchema, type ManifestInput } from './manifest.ts';

/* Describes what the service and the state have of a space as a manifest. Pure. */

export type ExportedJob = Readonly<Record<'name' | 'instructions' | 'schedule' | 'timezone', string>>;

export type ExportedAgent = Omit<ManifestInput['agents'][number], 'cron'> & { readonly cron?: ExportedJob[] };

export interface ExportedSpace {
  readonly manifest: Omit<ManifestInput, 'agents'> & { readonly agents: ExportedAgent[] };
  /** The agents of the manifest, by agent_id. */
  readonly agents: ReadonlyMap<string, ExportedAgent>;
  /** What no manifest can describe, and why. */
  readonly leftOut: readonly Unmanaged[];
}

export interface FoundSpace {
  readonly space: ListedSpace;
  readonly agents: readonly ListedAgent[];
  /** What the state has about the space. */
  readonly fact: SpaceFact | undefined;
  /** The jobs of an agent; of '', those of which the service does not say whose they are. */
  readonly jobsOf: (agentId: string) => readonly ListedCronJob[];
}

/** A text as it may be written: undefined if there is none, or if it held a secret. */
function withoutSecret(text: string | null | undefined): string | undefined {
  return text?.includes(REDACTED) ? undefined : (text ?? undefined);
}

/** By name, then by id: lists have no certain order. */
function sortByName<Item>(items: readonly Item[], keyOf: (item: Item) => readonly [string | null | undefined, string]) {
  const key = (item: Item) => keyOf(item).join('\0');
  return items.toSorted((one, other) => (key(one) < key(other) ? -1 : 1));
}

/** Why no manifest can describe a job, as a clause; undefined if one can. @param others all jobs of its agent */
function undescribable({ name, schedule }: ListedCronJob, others: readonly ListedCronJob[]): string | undefined {
  if (!completeSchedule(schedule)) return 'its schedule cannot be read';
  const isTwin = others.filter((each) => toNfc(each.name ?? '') === toNfc(name ?? '')).length > 1;
  if (isTwin) return 'its agent has several jobs of this name';
  return v.is(agentJobSchema.entries.name, withoutSecret(name) ?? '') ? undefined : 'its name cannot be written';
}

/** A job that the manifest does not have. @param others all jobs of its agent */
export function unmanagedJob(job: ListedCronJob, others: readonly ListedCronJob[]): Unmanaged {
  const reason = undescribable(job, others);
  return { resource: 'job', id: job.cron_job_id, name: job.name ?? null, ...(reason && { reason }) };
}

function describeJobs(listed: readonly ListedCronJob[]): ExportedJob[] {
  return sortByName(listed, (job) => [job.name, job.cron_job_id]).flatMap((each) => {
    const { name, instructions, schedule } = each;
    const complete = completeSchedule(schedule);
    if (!complete || undescribable(each, listed)) return [];
    const timing = { schedule: formatExpression(complete), timezone: complete.timezone };
    const described = (text: string) => ({ name: withoutSecret(name) ?? '', instructions: text, ...timing });
    const full = described(withoutSecret(instructions) ?? NOT_SHOWN);
    return [v.is(agentJobSchema, full) ? full : described(NOT_SHOWN)];
  });
}

function describeChat({ source }: ListedAgent): NonNullable<ExportedAgent['chat']> {
  const name = withoutSecret(source?.name);
  const routing_mode = ROUTING_MODES.find((mode) => mode === source?.routing_mode);
  return {
    ...(name !== undefined && { name }),
    ...(source?.reply_capable !== undefined && { reply_capable: source.reply_capable }),
    // The default may be another one: a source that is created anew needs the mode of this one.
    routing_mode: routing_mode ?? NOT_SHOWN,
  };
}

function describeAgent(listed: ListedAgent, { fact, jobsOf }: FoundSpace): ExportedAgent {
  const record = fact?.agents.findLast(({ agent_id }) => agent_id === listed.agent_id);
  const { source_id = record?.source_id ?? null } = listed;
  const cron = describeJobs(jobsOf(listed.agent_id));
  return {
    template_id: withoutSecret(listed.template_id) ?? record?.template_id ?? NOT_SHOWN,
    name: withoutSecret(listed.name) ?? '',
    ...(source_id !== null && { chat: describeChat(listed) }),
    ...(cron.length > 0 && { cron }),
  };
}

/** The agents that a manifest can have, by agent_id, and what is left out. */
function describeAgents(found: FoundSpace) {
  const { agents: listed, fact, jobsOf } = found;
  const agents = new Map<string, ExportedAgent>();
  const leftOut: Unmanaged[] = [];
  const keys = new Set<string>();
  const recorded = new Set(fact?.agents.map(({ agent_id }) => agent_id));
  // Of two with the same name and template, a manifest can have one: that of the state, which has its jobs.
  const byName = sortByName(listed, ({ name, agent_id }) => [name, `${recorded.has(agent_id) ? 0 : 1} ${agent_id}`]);
  for (const each of byName) {
    const agent = describeAgent(each, found);
    const key = JSON.stringify([agent.template_id, toNfc(agent.name)]);
    const { agent_id: id, name = null } = each;
    const isTwin = keys.has(key);
    keys.add(key);
    if (!isTwin && v.is(agentSchema, agent)) {
      agents.set(id, agent);
      const jobs = jobsOf(id).map((job, _, others) => unmanagedJob(job, others));
      leftOut.push(...jobs.filter(({ reason }) => reason));
    } else {
      const reason = isTwin ? 'another agent has its name and its template' : 'its name cannot be written';
      leftOut.push({ resource: 'agent', id, name, reason });
    }
  }
  return { agents, leftOut };
}

/**
 * Describes a space as a manifest, the same whatever the order of the lists. A plan of it has nothing to do; what no
 * manifest can describe is left out, or ignored by its id where another agent has its name.
 * @returns the reason, if no manifest can describe the space
 */
export function describeSpace(found: FoundSpace): ExportedSpace | InputError {
  const { space, fact } = found;
  const external_space_id = withoutSecret(space.external_space_id ?? fact?.external_space_id);
  const { agents, leftOut } = describeAgents(found);
  // Its name alone would not tell which one the manifest has.
  const ignore = leftOut.flatMap(({ resource, id, name }) =>
    resource === 'agent' && [...agents.values()].some((agent) => hasName(agent, name ?? ''))
      ? [{ resource, name: id }]
      : [],
  );
  const [name, description] = [withoutSecret(space.name), withoutSecret(space.description)];
  const skip = (why: string) => new InputError(`The space ${space.space_id} ${why}, so no manifest can describe it.`);
  if (external_space_id === undefined) return skip('has no external_space_id');
  const problem = identifierProblem(external_space_id);
  if (problem) return skip(`has an external_space_id that ${problem}`);
  if (!name?.trim()) return skip('has no name');
  if (agents.size === 0) return skip('has no agents that a manifest can describe');
  const fields = {
    name,
    ...(description !== undefined && { description }),
    ...(typeof space.is_org_wide === 'boolean' && { is_org_wide: space.is_org_wide }),
  };
  const described = { external_space_id, space: fields, agents: [...agents.values()] };
  return { manifest: { ...described, ...(ignore.length > 0 && { ignore }) }, agents, leftOut };
}
