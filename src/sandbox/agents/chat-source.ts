import { createId, type Service, timestamp } from '../service.ts';
import type { Agent, ChatSource } from '../store/changes.ts';

type WantedSource = { readonly [Field in 'name' | 'reply_capable' | 'routing_mode']?: ChatSource[Field] | undefined };

/**
 * Returns the agent's one auto-managed API chat source (spec §2), created when there is none. An existing one stays as it is.
 * @param wanted by default the agent's name, able to reply, and routed to the agent's inbox
 */
export function ensureChatSource(
  service: Pick<Service, 'store' | 'scheduler'>,
  agent: Agent,
  wanted: WantedSource,
): { source: ChatSource; created: boolean } {
  const existing = service.store.world.sourceOf(agent.agent_id);
  if (existing) return { source: existing, created: false };
  const source: ChatSource = {
    source_id: createId('src'),
    agent_id: agent.agent_id,
    name: wanted.name ?? agent.name,
    reply_capable: wanted.reply_capable ?? true,
    routing_mode: wanted.routing_mode ?? 'agent_inbox',
    created_at: timestamp(service),
  };
  service.store.commit({ kind: 'source', source });
  return { source, created: true };
}
