import { setUpChatSource } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { parseAgentReference, parseReference, resolveAgentId, resolveSpaceId } from '../api/references.ts';
import type { ChatSource } from '../contract/chat-source.ts';
import { CHAT_DEFAULTS, type ChatSetup } from './chat-fields.ts';

/** What setting up a chat needs of a command. */
interface SetupContext {
  readonly progress: { start(text: string): void };
  http(): Promise<Http>;
  stateLocation(): Promise<unknown>;
}

/**
 * Creates the API chat source of an agent, or finds the existing one (spec §4.2).
 * @param asked the fields that were asked for explicitly
 * @throws NotFoundError if the space or the agent is not found; UsageError if several have the name
 */
export async function setUpChat(
  context: SetupContext,
  space: string,
  agent: string,
  asked: Partial<ChatSetup>,
): Promise<ChatSource> {
  const [spaceReference, agentReference] = [parseReference(space), parseAgentReference(agent)];
  // A write is refused while the address of the state is invalid, although this one keeps nothing there.
  await context.stateLocation();
  const http = await context.http();
  context.progress.start('Setting up the chat');
  const spaceId = await resolveSpaceId(http, spaceReference);
  const agentId = await resolveAgentId(http, spaceId, agentReference);
  return await setUpChatSource(http, spaceId, agentId, { ...CHAT_DEFAULTS, ...asked });
}
