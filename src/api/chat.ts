import { type ChatSource, decodeChatSource } from '../contract/chat-source.ts';
import { type Acknowledgement, decodeAcknowledgement } from '../contract/messages.ts';
import { OPERATIONS } from '../contract/operations.ts';
import type { Http } from './http.ts';

/** The fields of a source (spec §4.2). The service picks a default for each omitted field. */
export interface ChatSourceFields {
  readonly name?: string;
  readonly reply_capable?: boolean;
  readonly routing_mode?: 'agent_inbox' | 'session_workflow';
}

/** Creates the agent's API chat source, or returns the existing one (spec §4.2). */
export async function setUpChatSource(
  http: Http,
  spaceId: string,
  agentId: string,
  fields: ChatSourceFields,
): Promise<ChatSource> {
  const parameters = { space_id: spaceId, agent_id: agentId };
  const response = await http.call(OPERATIONS.createChatSource, { parameters, json: fields });
  const source = response.read(decodeChatSource);
  // If the body has no `created`, a 201 means that the source is new.
  return { ...source, created: source.created ?? (response.status === 201 ? true : undefined) };
}

/** A message to register (spec §4.3). The text is sent unchanged. */
export interface NewMessage {
  readonly source_id: string;
  readonly session_id: string;
  readonly text: string;
  /** The service registers only one message per id. */
  readonly external_message_id: string;
}

export interface SentMessage extends Acknowledgement {
  /** Whether the call took several attempts. If so, `created: false` may mean that an earlier attempt succeeded. */
  readonly wasRetried: boolean;
}

/** Registers a message; the reply appears later in the history (spec §4.3). */
export async function postMessage(http: Http, message: NewMessage): Promise<SentMessage> {
  const { source_id, session_id, text, external_message_id } = message;
  const json = { source_id, session_id, text, external_message_id, response_mode: 'accepted' };
  const response = await http.call(OPERATIONS.registerMessage, { json });
  const acknowledgement = response.read(decodeAcknowledgement);
  return {
    ...acknowledgement,
    created: acknowledgement.created ?? (response.status === 201 ? true : undefined),
    wasRetried: response.attempts > 1,
  };
}
