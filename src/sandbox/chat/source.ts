import { makeId } from '../ids.ts';
import { Problem } from '../problem.ts';
import { type Service, timestamp } from '../service.ts';
import type { AgentRecord, SourceRecord } from '../store/agents.ts';

type Wanted = { readonly [Field in 'name' | 'reply_capable' | 'routing_mode']?: SourceRecord[Field] | undefined };

/**
 * The agent's one auto-managed API chat source (spec §2), made when there is none; one that is there stays as it is.
 * @param wanted by default the agent's name, able to reply, and routed to the agent's inbox.
 */
export function sourceFor(
  service: Pick<Service, 'store' | 'now'>,
  agent: AgentRecord,
  wanted: Wanted,
): { source: SourceRecord; created: boolean } {
  const existing = service.store.world.agents.sourceOf(agent.agent_id);
  if (existing) return { source: existing, created: false };
  const source: SourceRecord = {
    source_id: makeId('src'),
    agent_id: agent.agent_id,
    name: wanted.name ?? agent.name,
    reply_capable: wanted.reply_capable ?? true,
    routing_mode: wanted.routing_mode ?? 'agent_inbox',
    created_at: timestamp(service),
  };
  service.store.commit({ kind: 'source', source });
  return { source, created: true };
}

/** @throws Problem 404 when there is no such source. */
export function sourceAt(service: Service, sourceId: string): SourceRecord {
  const source = service.store.world.agents.source(sourceId);
  if (source) return source;
  throw new Problem(404, 'source_not_found', `There is no API chat source ${JSON.stringify(sourceId)}.`);
}
