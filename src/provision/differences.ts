import { type ChatSetup, chatDifferences } from '../chat/chat-fields.ts';
import type { ListedAgent } from '../contract/agents.ts';
import type { ChatSource } from '../contract/chat-source.ts';
import { toNfc } from '../cron/job.ts';
import type { Manifest, ManifestAgent } from './manifest.ts';
import type { Observation } from './observe.ts';
import type { AgentPair } from './plan.ts';

type PresentSpace = NonNullable<Observation['space']>;

/** What a manifest describes. A chat is the API chat source of an agent. */
type ResourceKind = 'space' | 'agent' | 'chat' | 'job';

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
export function hasName(agent: Pick<ListedAgent, 'name'>, name: string): boolean {
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
  const orgWide = typeof present.is_org_wide === 'boolean' ? present.is_org_wide : undefined;
  const description = isSame ? space.description : listed;
  return [
    ...differing(subject, 'external_space_id', present.external_space_id ?? undefined, external_space_id),
    ...differing(subject, 'name', present.name, space.name),
    ...differing(subject, 'description', description, space.description),
    ...differing(subject, 'is_org_wide', orgWide, space.is_org_wide),
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
function listedChatDifferences(wanted: ManifestAgent, { source_id, source }: ListedAgent): Difference[] {
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

/**
 * The differences of an agent and its chat. An agent that the state recorded may have another name or template by now. For a
 * missing agent, the template of the one that has its name: that is left as it is, and the missing one is installed.
 * @param free the existing agents that no agent of the manifest was paired with
 */
export function agentDifferences({ wanted, present }: AgentPair, free: readonly ListedAgent[]): Difference[] {
  const { name, template_id } = wanted;
  const subject = { resource: 'agent', name } as const;
  if (!present) {
    const sameName = free.find((agent) => hasName(agent, name));
    return sameName ? differing(subject, 'template_id', sameName.template_id, template_id) : [];
  }
  return [
    ...differing(subject, 'name', hasName(present, name) ? name : present.name, name),
    ...differing(subject, 'template_id', present.template_id, template_id),
    ...retirementDifferences(subject, present),
    ...listedChatDifferences(wanted, present),
  ];
}
