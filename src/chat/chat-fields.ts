/** How a source routes messages to its agent (spec §2). */
export const ROUTING_MODES = ['agent_inbox', 'session_workflow'] as const;

type RoutingMode = (typeof ROUTING_MODES)[number];

/** The fields that set up an agent's API chat (spec §4.2). */
export interface ChatSetup {
  readonly name: string;
  readonly reply_capable: boolean;
  readonly routing_mode: RoutingMode;
}

/** Sent for fields that are not given; the spec does not say which fields are optional (spec §4.7). */
export const CHAT_DEFAULTS: ChatSetup = { name: 'API chat', reply_capable: true, routing_mode: 'agent_inbox' };

/** A field in which an existing source differs from what was asked for. */
export interface ChatDifference {
  readonly field: keyof ChatSetup;
  readonly service: string | boolean;
  readonly asked: string | boolean;
}

/**
 * Compares a source, which the service leaves as it is if it existed before (spec §4.2), with what was asked for.
 * @param source undefined for fields that the service does not show
 * @param asked the fields that were asked for explicitly
 */
export function chatDifferences(
  source: { readonly [Field in keyof ChatSetup]: string | boolean | undefined },
  asked: Partial<ChatSetup>,
): ChatDifference[] {
  return (['name', 'reply_capable', 'routing_mode'] as const).flatMap((field) => {
    const [service, wanted] = [source[field], asked[field]];
    if (service === undefined || wanted === undefined || service === wanted) return [];
    return [{ field, service, asked: wanted }];
  });
}
