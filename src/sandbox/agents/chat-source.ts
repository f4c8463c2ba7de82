import { createId, type Service, timestamp } from '../service.ts';
import type { Agent, ChatSource } from '../store/changes.ts';

type SourceOptions = { readonly [Field in 'name' | 'reply_capable' | 'routing_mode']?: ChatSource[Field] | undefined };

/**
 * Returns the agent's auto-managed API chat source (spec §2), and creates it if there is none. Does not change an existing
 * one.
 * @param options by default the agent's name, able to reply, and routed to the agent's inbox
 */
export function ensureChatSource(
  service: Pick<Service, 'store' | 'scheduler'>,
  agent: Agent,
  options: SourceOptions,
): { source: ChatSource; created: boolean } {
  const existing = service.store.world.sourceOf(agent.agent_id);
  if (existing) return { source: existing, created: false };
  const source: ChatSource = {
    source_id: createId('src'),
    agent_id: agent.agent_id,
    name: options.name ?? agent.name,
    reply_capable: options.reply_capable ?? true,
    routing_mode: options.routing_mode ?? 'agent_inbox',
    created_at: timestamp(service),
  };
  service.store.commit({ kind: 'source', source });
  return { source, created: true };
}
