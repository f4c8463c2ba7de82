import type { ChatSetup } from '../contract/chat-fields.ts';
import type { ChatSource, ListedAgent } from '../contract/resources.ts';
import { toNfc } from '../cron/job.ts';
import type { Manifest, ManifestAgent } from './manifest.ts';
import type { PresentSpace } from './observe.ts';

/** A field that differs between the service and the manifest, and that provisioning does not change. */
export interface Difference {
  /** A chat is the API chat source of an agent. */
  readonly resource: 'space' | 'agent' | 'chat' | 'job';
  /** The name in the manifest; that of its agent for a chat. */
  readonly name: string;
  /** The name of the agent of a job. */
  readonly agent?: string;
  readonly field: string;
  /** Null if the service has nothing, or does not show what it has. */
  readonly service: unknown;
  readonly manifest: unknown;
  /** The whole schedule that the field is a part of. */
  readonly in_words?: { readonly service: string; readonly manifest: string };
}

/** Something that exists in the space, and that the manifest does not have. */
export interface Unmanaged {
  readonly resource: 'agent' | 'job';
  readonly id: string;
  readonly name: string | null;
  /** Why no manifest can describe it, as a clause. */
  readonly reason?: string;
}

type Subject = Pick<Difference, 'resource' | 'name'>;

/** Whether an agent has this name: in Unicode NFC, because a service may store another form than the one it got. */
export function hasName(agent: { readonly name?: string | undefined }, name: string): boolean {
  return agent.name !== undefined && toNfc(agent.name) === toNfc(name);
}

/** A field that one of them does not mention has no difference. */
function differing(subject: Subject, field: string, service: unknown, manifest: unknown): Difference[] {
  if (manifest === undefined || service === undefined || service === manifest) return [];
  return [{ ...subject, field, service, manifest }];
}

/** The differences of a space, without those of its agents. */
export function spaceDifferences({ external_space_id, space }: Manifest, present: PresentSpace): Difference[] {
  const subject = { resource: 'space', name: space.name } as const;
  return [
    ...differing(subject, 'external_space_id', present.external_space_id ?? undefined, external_space_id),
    ...differing(subject, 'name', present.name, space.name),
    // A service may trim a description: a block of YAML ends with a line break.
    ...differing(subject, 'description', present.description?.trim(), space.description?.trim()),
    ...differing(subject, 'is_org_wide', present.is_org_wide, space.is_org_wide),
  ];
}

/** The chat that the manifest asks for; undefined if it asks for none. */
export function wantedChat({ chat, api_chat_routing_mode }: ManifestAgent): Partial<ChatSetup> | undefined {
  if (!chat) return undefined;
  const { routing_mode = api_chat_routing_mode, ...settings } = chat;
  return { ...settings, ...(routing_mode && { routing_mode }) };
}

/** The differences of a source, which the service leaves as it is (spec §4.2), from what is asked of it. */
export function sourceDifferences(
  agent: string,
  source: Pick<ChatSource, keyof ChatSetup>,
  asked: Partial<ChatSetup>,
): Difference[] {
  const fields = ['name', 'reply_capable', 'routing_mode'] as const;
  return fields.flatMap((field) => differing({ resource: 'chat', name: agent }, field, source[field], asked[field]));
}

/** The differences of an existing agent and its chat. One that the state recorded may have another name by now. */
export function agentDifferences(wanted: ManifestAgent, present: ListedAgent): Difference[] {
  const { name, api_chat_routing_mode: routing_mode } = wanted;
  const { source } = present;
  return [
    ...differing({ resource: 'agent', name }, 'name', hasName(present, name) ? name : present.name, name),
    ...(source ? sourceDifferences(name, source, wantedChat(wanted) ?? { ...(routing_mode && { routing_mode }) }) : []),
  ];
}

type Ignored = Manifest['ignore'];

function isNamed(wanted: string | undefined, names: readonly (string | null)[]): boolean {
  return wanted === undefined || names.some((name) => name !== null && toNfc(name) === toNfc(wanted));
}

/** The differences that a manifest does not ask to ignore. */
export function withoutIgnored(ignored: Ignored = [], differences: readonly Difference[]): readonly Difference[] {
  return differences.filter(
    ({ resource, name, field }) =>
      !ignored.some((by) => by.resource === resource && isNamed(by.name, [name]) && (by.field ?? field) === field),
  );
}

/** Whether a manifest asks to ignore a thing that it does not have, by the name of the thing or by its id. */
export function isIgnored(ignored: Ignored = [], { resource, id, name }: Unmanaged): boolean {
  return ignored.some((by) => by.resource === resource && by.field === undefined && isNamed(by.name, [name, id]));
}

/**
 * Whether a manifest names a thing that it ignores. To ignore all of a kind says nothing about this one.
 * @param thing without its name to ask for its id alone: then it is none of those in the manifest
 */
export function isNamedByIgnore(ignored: Ignored = [], thing: Unmanaged): boolean {
  const named = ignored.filter(({ name }) => name !== undefined);
  return isIgnored(named, thing);
}
