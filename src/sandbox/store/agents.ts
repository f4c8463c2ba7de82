import * as v from 'valibot';

const ROUTING_MODES = ['agent_inbox', 'session_workflow'] as const;

export const routingModeSchema = v.picklist(ROUTING_MODES, `must be one of ${ROUTING_MODES.join(', ')}`);

export const agentRecordSchema = v.strictObject({
  agent_id: v.string(),
  space_id: v.string(),
  template_id: v.string(),
  name: v.string(),
  created_at: v.string(),
});

export const sourceRecordSchema = v.strictObject({
  source_id: v.string(),
  agent_id: v.string(),
  name: v.string(),
  reply_capable: v.boolean(),
  routing_mode: routingModeSchema,
  created_at: v.string(),
});

/** An agent installed from a template (spec §2). */
export type AgentRecord = v.InferOutput<typeof agentRecordSchema>;

/** An agent's auto-managed API chat source (spec §2): at most one for each agent. */
export type SourceRecord = v.InferOutput<typeof sourceRecordSchema>;

function sameness(spaceId: string, templateId: string, name: string): string {
  return JSON.stringify([spaceId, templateId, name]);
}

/** Agents by space in the order of installation, and their API chat sources. */
export class AgentTable {
  readonly #byId = new Map<string, AgentRecord>();
  readonly #bySpace = new Map<string, AgentRecord[]>();
  readonly #firstOfSort = new Map<string, AgentRecord>();
  readonly #sourceByAgent = new Map<string, SourceRecord>();
  readonly #sourceById = new Map<string, SourceRecord>();

  add(agent: AgentRecord): void {
    this.#byId.set(agent.agent_id, agent);
    const siblings = this.#bySpace.get(agent.space_id);
    if (siblings) siblings.push(agent);
    else this.#bySpace.set(agent.space_id, [agent]);
    const sort = sameness(agent.space_id, agent.template_id, agent.name);
    if (!this.#firstOfSort.has(sort)) this.#firstOfSort.set(sort, agent);
  }

  addSource(source: SourceRecord): void {
    this.#sourceByAgent.set(source.agent_id, source);
    this.#sourceById.set(source.source_id, source);
  }

  get(agentId: string): AgentRecord | undefined {
    return this.#byId.get(agentId);
  }

  inSpace(spaceId: string): readonly AgentRecord[] {
    return this.#bySpace.get(spaceId) ?? [];
  }

  /** The first agent installed in the space with this template and name. */
  alike(spaceId: string, templateId: string, name: string): AgentRecord | undefined {
    return this.#firstOfSort.get(sameness(spaceId, templateId, name));
  }

  sourceOf(agentId: string): SourceRecord | undefined {
    return this.#sourceByAgent.get(agentId);
  }

  source(sourceId: string): SourceRecord | undefined {
    return this.#sourceById.get(sourceId);
  }

  all(): Iterable<AgentRecord> {
    return this.#byId.values();
  }

  sources(): Iterable<SourceRecord> {
    return this.#sourceByAgent.values();
  }
}
