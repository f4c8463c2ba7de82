import { readCreated } from './body.ts';
import type { Contract } from './contract.ts';
import { normalizeName } from './field-names.ts';
import { Fields } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { UnknownShape } from './unknown-shape.ts';
import { asId } from './values.ts';

/* How spaces, agents, their sources, and uploads are read (spec §2). Messages and jobs have modules of their own. */

/** A listed space. A field is undefined if the service did not send it, and null if it says that there is none. */
export interface ListedSpace {
  readonly space_id: string;
  readonly external_space_id: string | null | undefined;
  readonly name: string | undefined;
  readonly description: string | null | undefined;
  /** A text if the service sent anything other than a boolean. */
  readonly is_org_wide: boolean | string | undefined;
  /** The object as the service sent it. */
  readonly item: JsonObject;
}

/**
 * Reads one space of a list.
 * @throws UnknownShape if it has no id, or if a field that was sent cannot be read
 */
export function readSpace(object: JsonObject, contract: Contract): ListedSpace {
  const fields = new Fields(object, 'space', contract);
  const orgWide = fields.value('space.is_org_wide');
  return {
    space_id: fields.readId('space.id'),
    external_space_id: fields.shownText('space.external_space_id'),
    name: fields.shownText('space.name') ?? undefined,
    description: fields.shownText('space.description'),
    is_org_wide: typeof orgWide === 'boolean' ? orgWide : fields.text('space.is_org_wide'),
    item: object,
  };
}

/** The settings of an API chat source. What the service does not show is undefined. */
interface SourceSettings {
  readonly name: string | undefined;
  readonly reply_capable: boolean | undefined;
  readonly routing_mode: string | undefined;
}

function readSettings(fields: Fields): SourceSettings {
  const replyCapable = fields.value('source.reply_capable');
  return {
    name: fields.text('source.name'),
    reply_capable: typeof replyCapable === 'boolean' ? replyCapable : undefined,
    routing_mode: fields.text('source.routing_mode'),
  };
}

/** An API chat source that was set up (spec §4.2). */
export interface ChatSource extends SourceSettings {
  readonly source_id: string;
  /** False if the source existed before; undefined if the service does not say. */
  readonly created: boolean | undefined;
  /** The source's object as the service sent it. */
  readonly raw: JsonObject;
}

/** Reads the response to setting up API chat. @throws UnknownShape as `readCreated`, or for a text that is none */
export function readChatSource(body: unknown, contract: Contract): ChatSource {
  const { id, created, fields, object } = readCreated(body, 'source', contract);
  return { source_id: id, created, ...readSettings(fields), raw: object };
}

export interface ListedAgent {
  readonly agent_id: string;
  readonly name: string | undefined;
  /** The spec mentions it only in requests; undefined if the service does not return it. */
  readonly template_id: string | undefined;
  /** The API chat source from the integration metadata: null if there is none, undefined if it is not mentioned. */
  readonly source_id: string | null | undefined;
  /** The settings of the source, if the integration metadata has them. */
  readonly source?: SourceSettings | undefined;
  /** The object as the service sent it. */
  readonly item: JsonObject;
}

/**
 * Reads an agent's source, whose place the spec leaves open.
 * @throws UnknownShape if several places name different sources: an agent has one (spec §2)
 */
function readSource(agent: JsonObject, fields: Fields, contract: Contract): Pick<ListedAgent, 'source_id' | 'source'> {
  const id = fields.id('agent.source_id');
  const found = fields.all('agent.source_id');
  if (id === undefined) return { source_id: found.some(({ value }) => value === null) ? null : undefined };
  const holder = found.find(({ value }) => asId(value) === id)?.holder;
  // The fields beside it at the top are those of the agent.
  const isOwn = holder !== undefined && holder !== agent;
  return { source_id: id, source: isOwn ? readSettings(new Fields(holder, 'source', contract)) : undefined };
}

/** Reads one agent of a list. @throws UnknownShape if it has no id, or if a field that was sent cannot be read */
export function readAgent(agent: JsonObject, contract: Contract): ListedAgent {
  const fields = new Fields(agent, 'agent', contract);
  return {
    agent_id: fields.readId('agent.id'),
    name: fields.shownText('agent.name') ?? undefined,
    template_id: fields.text('agent.template_id'),
    item: agent,
    ...readSource(agent, fields, contract),
  };
}

/** The response to provisioning, whose shape spec §4.1 leaves open. */
export interface ProvisionResponse {
  readonly space_id: string;
  /** False if the space existed before; undefined if the service does not say. */
  readonly created: boolean | undefined;
  /** The agents that the response lists with an id. The caller finds the others in the space's list of agents. */
  readonly agents: readonly ListedAgent[];
  /** The error for an agent that the response lists without an id, if there is one. */
  readonly unreadable: UnknownShape | undefined;
}

/** Normalized names of the list of installed agents. */
const AGENTS = ['agents', 'installedagents', 'agentinstalls', 'agentinstallations'];

/** Reads the response to provisioning. @throws UnknownShape as `readCreated` and `readAgent` */
export function readProvisionResponse(body: unknown, contract: Contract): ProvisionResponse {
  const { id, created, layers } = readCreated(body, 'space', contract);
  const entries = layers.toReversed().flatMap((layer) => Object.entries(layer));
  const lists = entries.flatMap(([key, value]) => (AGENTS.includes(normalizeName(key)) ? [value] : []));
  const agents: ListedAgent[] = [];
  let unreadable: UnknownShape | undefined;
  for (const agent of (lists.find(Array.isArray) ?? []).filter(isJsonObject)) {
    const fields = new Fields(agent, 'agent', contract);
    if (fields.id('agent.id') !== undefined) agents.push(readAgent(agent, contract));
    else unreadable ??= fields.unreadable('agent.id', 'An installed agent has no id.');
  }
  return { space_id: id, created, agents, unreadable };
}

export type UploadKind = 'attachment' | 'document';

const UPLOADED = { attachment: 'file_attachment', document: 'document' } as const;

/** Returns the name of the form field with the file itself. */
export function fileFieldOf(kind: UploadKind, contract: Contract): string {
  return contract.parameter(`${UPLOADED[kind]}s.create.file`)?.path[0] ?? 'file';
}

/** Returns the id of the uploaded resource (spec §4.7). @throws UnknownShape as `readCreated` */
export function readUploadId(body: unknown, kind: UploadKind, contract: Contract): string {
  return readCreated(body, UPLOADED[kind], contract).id;
}
