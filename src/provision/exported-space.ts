import * as v from 'valibot';
import { ROUTING_MODES } from '../chat/chat-fields.ts';
import type { ListedAgent, ListedCronJob, ListedSpace } from '../contract/resources.ts';
import { REDACTED } from '../contract/values.ts';
import { NOT_SHOWN, toNfc } from '../cron/job.ts';
import { agentJobSchema } from '../cron/job-file.ts';
import { completeSchedule, formatExpression } from '../cron/schedule.ts';
import { InputError } from '../errors.ts';
import { identifierProblem } from '../yaml/text.ts';
import { agentSchema, type ManifestInput } from './manifest.ts';
import type { SpaceFact } from './space-record.ts';

/* Describes what the service and the state have of a space as a manifest. Pure. */

export type ExportedJob = Readonly<Record<'name' | 'instructions' | 'schedule' | 'timezone', string>>;

export type ExportedAgent = Omit<ManifestInput['agents'][number], 'cron'> & { readonly cron?: ExportedJob[] };

export interface ExportedSpace {
  readonly manifest: Omit<ManifestInput, 'agents'> & { readonly agents: ExportedAgent[] };
  /** The agents of the manifest, by agent_id. */
  readonly agents: ReadonlyMap<string, ExportedAgent>;
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

/** The jobs that a manifest can describe: those whose schedule is known, and which have a name of their own. */
function describeJobs(listed: readonly ListedCronJob[]): ExportedJob[] {
  const names = listed.map(({ name }) => toNfc(name ?? ''));
  return sortByName(listed, (job) => [job.name, job.cron_job_id]).flatMap(({ name, instructions, schedule }) => {
    const complete = completeSchedule(schedule);
    if (!complete || names.filter((each) => each === toNfc(name ?? '')).length > 1) return [];
    const timing = { schedule: formatExpression(complete), timezone: complete.timezone };
    const job = { name: withoutSecret(name) ?? '', instructions: withoutSecret(instructions) ?? NOT_SHOWN, ...timing };
    return v.is(agentJobSchema, job) ? [job] : [];
  });
}

function describeChat({ source }: ListedAgent): NonNullable<ExportedAgent['chat']> {
  const name = withoutSecret(source?.name);
  const routing_mode = ROUTING_MODES.find((mode) => mode === source?.routing_mode);
  return {
    ...(name !== undefined && { name }),
    ...(source?.reply_capable !== undefined && { reply_capable: source.reply_capable }),
    ...(routing_mode && { routing_mode }),
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

/**
 * Describes a space as a manifest, the same whatever the order of the lists. A plan of it has nothing to do; what no
 * manifest can describe is unmanaged in it.
 * @returns the reason, if no manifest can describe the space
 */
export function describeSpace(found: FoundSpace): ExportedSpace | InputError {
  const { space, agents: listed, fact } = found;
  const external_space_id = withoutSecret(space.external_space_id ?? fact?.external_space_id);
  const agents = new Map<string, ExportedAgent>();
  const keys = new Set<string>();
  for (const each of sortByName(listed, ({ name, agent_id }) => [name, agent_id])) {
    const agent = describeAgent(each, found);
    // Of two with the same name and template, a manifest can have one.
    const key = JSON.stringify([agent.template_id, toNfc(agent.name)]);
    if (!keys.has(key) && v.is(agentSchema, agent)) agents.set(each.agent_id, agent);
    keys.add(key);
  }
  const [name, description] = [withoutSecret(space.name), withoutSecret(space.description)];
  const skip = (reason: string) =>
    new InputError(`The space ${space.space_id} ${reason}, so no manifest can describe it.`);
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
  return { manifest: { external_space_id, space: fields, agents: [...agents.values()] }, agents };
}
