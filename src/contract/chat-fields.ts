/** How a source routes messages to its agent (spec §2). */
export const ROUTING_MODES = ['agent_inbox', 'session_workflow'] as const;

/** The fields that set up an agent's API chat (spec §4.2). */
export interface ChatSetup {
  readonly name: string;
  readonly reply_capable: boolean;
  readonly routing_mode: (typeof ROUTING_MODES)[number];
}

/** Sent for fields that are not given; the spec does not say which fields are optional (spec §4.7). */
export const CHAT_DEFAULTS: ChatSetup = { name: 'API chat', reply_capable: true, routing_mode: 'agent_inbox' };
