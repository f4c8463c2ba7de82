/** How a source routes messages to its agent (spec §2). */
export const ROUTING_MODES = ['agent_inbox', 'session_workflow'] as const;

type RoutingMode = (typeof ROUTING_MODES)[number];

/** The fields with which an agent's API chat is set up (spec §4.2). */
export interface ChatSetup {
  readonly name: string;
  readonly reply_capable: boolean;
  readonly routing_mode: RoutingMode;
}

/** What is sent where nothing else is said; the spec does not say which fields a service can do without (spec §4.7). */
export const CHAT_DEFAULTS: ChatSetup = { name: 'API chat', reply_capable: true, routing_mode: 'agent_inbox' };

/** A source as the service shows it; undefined where it does not say. */
type ShownSource = { readonly [Field in keyof ChatSetup]: string | boolean | undefined };

/** A field in which a source is not what was asked for. */
export interface ChatDifference {
  readonly field: keyof ChatSetup;
  readonly service: string | boolean;
  readonly asked: string | boolean;
}

/**
 * Where an agent's source, which stays as it is when it was there before (spec §4.2), is not as it was asked for. Pure.
 * @param asked the fields that were asked for, without defaults
 */
export function chatDifferences(source: ShownSource, asked: Partial<ChatSetup>): ChatDifference[] {
  return (['name', 'reply_capable', 'routing_mode'] as const).flatMap((field) => {
    const [shown, wanted] = [source[field], asked[field]];
    return shown === undefined || wanted === undefined || shown === wanted
      ? []
      : [{ field, service: shown, asked: wanted }];
  });
}
