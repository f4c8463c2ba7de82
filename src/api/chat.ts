import { readAgent } from '../contract/agents.ts';
import { describeFix } from '../contract/assumptions.ts';
import { type ChatSource, decodeChatSource } from '../contract/chat-source.ts';
import { type Acknowledgement, decodeAcknowledgement } from '../contract/messages.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { InterruptedError, isWithoutId, PartnerctlError, withHint } from '../errors.ts';
import { listAgents } from './agents.ts';
import { type ApiResponse, readItem } from './api-response.ts';
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
  const values = { space_id: spaceId, agent_id: agentId, ...fields };
  const response = await http.call(OPERATIONS.createChatSource, { values });
  const source = await readOrLookUp(response, async () => {
    const source_id = await findListedSource(http, spaceId, agentId);
    return source_id === undefined ? undefined : { ...UNDESCRIBED_SOURCE, source_id };
  });
  // If the body has no `created`, a 201 means that the source is new.
  return { ...source, created: source.created ?? (response.status === 201 ? true : undefined) };
}

const UNDESCRIBED_SOURCE = {
  created: undefined,
  name: undefined,
  reply_capable: undefined,
  routing_mode: undefined,
  raw: {},
};

/** Reads the source in a response, or else looks it up. @throws ShapeError with a hint if neither has its id */
async function readOrLookUp(response: ApiResponse, lookUp: () => Promise<ChatSource | undefined>): Promise<ChatSource> {
  try {
    return response.read(decodeChatSource);
  } catch (error) {
    if (!(error instanceof PartnerctlError && isWithoutId(error))) throw error;
    const source = await lookUp();
    if (source) return source;
    throw withHint(error, {
      hint: `The list of agents does not tell the source of the agent either. ${describeFix({ leaf: 'agent.source_id', value: '<path>' })}`,
      details: {},
    });
  }
}

/** Returns the id of an agent's source from the list of agents; undefined if the list does not contain it. */
async function findListedSource(http: Http, spaceId: string, agentId: string): Promise<string | undefined> {
  try {
    for await (const item of listAgents(http, spaceId)) {
      const agent = readItem(OPERATIONS.listAgents, () => readAgent(item, http.contract));
      if (agent.agent_id === agentId) return agent.source_id ?? undefined;
    }
  } catch (error) {
    // The caller's error, about the response to the write, explains more.
    if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
  }
  return undefined;
}

/** A message to register (spec §4.3). The text is sent unchanged. */
export interface NewMessage {
  readonly source_id: string;
  readonly session_id: string;
  readonly text: string;
  /** The service registers only one message per id. */
  readonly external_message_id: string;
}

export interface SentMessage extends Omit<Acknowledgement, 'message_id'> {
  /** Null if the response does not contain it. */
  readonly message_id: string | null;
  /** Why `message_id` is null. */
  readonly missingIdError?: PartnerctlError;
  /** Whether the call took several attempts. If so, `created: false` may mean that an earlier attempt succeeded. */
  readonly wasRetried: boolean;
}

/** Registers a message; the reply appears later in the history (spec §4.3). */
export async function postMessage(http: Http, message: NewMessage): Promise<SentMessage> {
  const { source_id, session_id, text, external_message_id } = message;
  const values = { source_id, session_id, text, external_message_id, response_mode: 'accepted' };
  const response = await http.call(OPERATIONS.registerMessage, { values });
  const acknowledgement = readAcknowledgement(response);
  return {
    ...acknowledgement,
    created: acknowledgement.created ?? (response.status === 201 ? true : undefined),
    wasRetried: response.attempts > 1,
  };
}

function readAcknowledgement(response: ApiResponse): Omit<SentMessage, 'wasRetried'> {
  try {
    return response.read(decodeAcknowledgement);
  } catch (error) {
    if (!(error instanceof PartnerctlError && isWithoutId(error))) throw error;
    return { message_id: null, created: undefined, missingIdError: error };
  }
}
