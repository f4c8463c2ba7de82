import { type ChatSetup, chatDifferences } from '../chat/chat-setup.ts';
import type { ChatSource } from '../contract/chat-source.ts';
import { findDifferences, toNfc } from '../cron/job.ts';
import { matchContent } from '../cron/listed-job.ts';
import type { Manifest, ManifestAgent } from './manifest.ts';
import type { PlannedAgent, PresentAgent, PresentSpace } from './provision-plan.ts';
import type { JobKnowledge } from './space-plan.ts';

/** What a manifest describes. A chat is the API chat source of an agent. */
export type ResourceKind = 'space' | 'agent' | 'chat' | 'job';

/** A field that differs between the service and the manifest, and that provisioning does not change. */
export interface Difference {
  readonly resource: ResourceKind;
  /** The name in the manifest; that of its agent for a chat. */
  readonly name: string;
  readonly field: string;
  /** Null if the service has nothing, or does not show what it has. */
  readonly service: unknown;
  readonly manifest: unknown;
}

/** Whether an agent has this name: in Unicode NFC, because a service may store another form than the one it got. */
export function hasName(agent: Pick<PresentAgent, 'name'>, name: string): boolean {
  return agent.name !== undefined && toNfc(agent.name) === toNfc(name);
}

function differing(
  { resource, name }: Pick<Difference, 'resource' | 'name'>,
  field: string,
  service: unknown,
  manifest: unknown,
): Difference[] {
  if (manifest === undefined || service === undefined || service === manifest) return [];
  return [{ resource, name, field, service, manifest }];
}

/** What shows that something is deleted or archived, and yet listed. */
function retirementDifferences(
  { resource, name }: Pick<Difference, 'resource' | 'name'>,
  { retirement }: Pick<PresentSpace, 'retirement'>,
): Difference[] {
  return retirement ? [{ resource, name, field: retirement.field, service: retirement.value, manifest: null }] : [];
}

/** Removes what services change when they store a text: line ends and surrounding white space. */
function trimText(text: string | undefined): string | undefined {
  return text?.replaceAll('\r\n', '\n').trim();
}

/** The differences of a space, without those of its agents. Fields that the service does not list have none. */
export function spaceDifferences({ space, external_space_id }: Manifest, present: PresentSpace): Difference[] {
  const subject = { resource: 'space', name: space.name } as const;
  // A space without a description may be listed with an empty one.
  const listed = space.description === '' ? (present.description ?? '') : present.description;
  const isSame = trimText(listed ?? undefined) === trimText(space.description);
  const description = isSame ? space.description : listed;
  return [
    ...differing(subject, 'external_space_id', present.external_space_id, external_space_id),
    ...differing(subject, 'name', present.name, space.name),
    ...differing(subject, 'description', description, space.description),
    ...differing(subject, 'is_org_wide', present.is_org_wide, space.is_org_wide),
    ...retirementDifferences(subject, present),
  ];
}

/** The chat that the manifest asks for; undefined if it asks for none. */
export function wantedChat({ chat, api_chat_routing_mode }: ManifestAgent): Partial<ChatSetup> | undefined {
  return chat && { ...(api_chat_routing_mode && { routing_mode: api_chat_routing_mode }), ...chat };
}

/** The differences between the source of a chat and what is asked of it. @param agent the name of its agent */
export function sourceDifferences(
  agent: string,
  source: Pick<ChatSource, keyof ChatSetup>,
  asked: Partial<ChatSetup>,
): Difference[] {
  return chatDifferences(source, asked).map(({ field, service, asked: manifest }) => ({
    resource: 'chat',
    name: agent,
    field,
    service,
    manifest,
  }));
}

/** The differences of an agent's chat. A chat that is yet to be set up has none. */
function listedChatDifferences(wanted: ManifestAgent, { source_id, source }: PresentAgent): Difference[] {
  const { name, api_chat_routing_mode: routing_mode } = wanted;
  if (source_id === null && wanted.chat === undefined) {
    return differing(
      { resource: 'chat', name },
      'auto_create_api_chat',
      false,
      wanted.auto_create_api_chat || undefined,
    );
  }
  const asked = wantedChat(wanted) ?? (routing_mode && { routing_mode });
  if (typeof source_id !== 'string' || !source || !asked) return [];
  return sourceDifferences(name, source, asked);
}

/** What the service lists for an agent that the state file knows by the name and template of the manifest. */
function renamedDifferences({ name, template_id }: ManifestAgent, { listed }: PresentAgent): Difference[] {
  if (!listed) return [];
  const subject = { resource: 'agent', name } as const;
  const listedName = hasName(listed, name) ? name : listed.name;
  return [
    ...differing(subject, 'name', listedName, name),
    ...differing(subject, 'template_id', listed.template_id, template_id),
  ];
}

/**
 * The agent that may be a missing one under another name or with another template: the only one of its template, or one of
 * its name. It is not taken for it: the missing agent is installed.
 */
function likelyDifferences(
  { name, template_id }: ManifestAgent,
  agents: readonly PlannedAgent[],
  free: readonly PresentAgent[],
): Difference[] {
  const subject = { resource: 'agent', name } as const;
  const sameName = free.find((agent) => hasName(agent, name));
  if (sameName) return differing(subject, 'template_id', sameName.template_id, template_id);
  const rivals = agents.filter(({ wanted, present }) => !present && wanted.template_id === template_id);
  const candidates = free.filter((agent) => agent.template_id === template_id);
  if (rivals.length !== 1 || candidates.length !== 1) return [];
  return differing(subject, 'name', candidates[0]?.name, name);
}

/**
 * The differences of an agent and its chat. For a missing agent, those of the one that may be it.
 * @param agents all agents of the manifest
 * @param free the existing agents that none of them was paired with
 */
export function agentDifferences(
  { wanted, present }: PlannedAgent,
  agents: readonly PlannedAgent[],
  free: readonly PresentAgent[],
): Difference[] {
  if (!present) return likelyDifferences(wanted, agents, free);
  return [
    ...renamedDifferences(wanted, present),
    ...retirementDifferences({ resource: 'agent', name: wanted.name }, present),
    ...listedChatDifferences(wanted, present),
  ];
}

/** The differences of a job: those that the service lists, then those that the state file records. */
export function jobDifferences({ result, listed }: JobKnowledge): Difference[] {
  const { name, instructions, schedule } = result.job;
  const subject = { resource: 'job', name } as const;
  const renamed = listed?.name !== undefined && !hasName(listed, name);
  const job = { agent_id: '', name, instructions, schedule };
  const shown = listed && matchContent(listed, job) === 'different' ? findDifferences(listed, job) : [];
  const recorded = result.differences.filter(({ field }) => !shown.some((each) => each.field === field));
  return [
    ...(renamed ? [{ ...subject, field: 'name', service: listed.name, manifest: name }] : []),
    ...[...shown, ...recorded].map(({ field, before, after }) => ({
      ...subject,
      field,
      service: before ?? null,
      manifest: after ?? null,
    })),
  ];
}
