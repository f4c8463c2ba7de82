import { setUpChatSource } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { type InTurn, reasonOfStop } from '../api/take-turns.ts';
import { CHAT_DEFAULTS, type ChatSetup } from '../chat/chat-setup.ts';
import type { ChatSource } from '../contract/chat-source.ts';
import { setUpChatAction } from './actions.ts';
import { type Difference, sourceDifferences, wantedChat } from './differences.ts';
import type { AgentResult, DocumentResult } from './document-result.ts';
import type { ManifestDocument } from './manifest.ts';
import { inStep, missingAgentIdError } from './run-failure.ts';

async function setUpChat(
  http: Http,
  spaceId: string,
  agent: AgentResult,
  wanted: Partial<ChatSetup>,
): Promise<{ source: ChatSource; differences: Difference[] }> {
  if (agent.agent_id === null) throw missingAgentIdError(spaceId, `chat setup ${spaceId} <agent_id>`);
  const source = await setUpChatSource(http, spaceId, agent.agent_id, { ...CHAT_DEFAULTS, ...wanted });
  return { source, differences: sourceDifferences(agent.name, source, wanted) };
}

/**
 * Sets up the API chat of the agents of an applied document that ask for one (spec §4.2). The call is safe to repeat; it
 * is skipped for an agent that existed and whose source is known.
 * @param result its agents in the order of the manifest
 * @returns the result with the sources. Failures are in it; nothing is thrown.
 */
export async function setUpChats(
  { http, inTurn }: { readonly http: Http; readonly inTurn: InTurn },
  { manifest }: ManifestDocument,
  result: DocumentResult,
): Promise<DocumentResult> {
  const agents = [...result.agents];
  const differences = [...result.differences];
  const actions = [...result.actions];
  let { status } = result;
  for (const [index, agent] of result.agents.entries()) {
    const described = manifest.agents[index];
    const wanted = described && wantedChat(described);
    const isKnown = agent.status === 'unchanged' && agent.source_id !== null;
    const { space_id } = result;
    if (wanted === undefined || space_id === null || isKnown) continue;
    try {
      const chat = await inTurn(() => setUpChat(http, space_id, agent, wanted));
      agents[index] = { ...agent, source_id: chat.source.source_id };
      differences.push(...chat.differences);
      const { created = agent.status === 'created' } = chat.source;
      const action = described && setUpChatAction(described);
      if (created && action) actions.push(action);
      if (status === 'unchanged' && chat.source.created) status = 'reused';
    } catch (cause) {
      const error = inStep(
        `The API chat of the agent ${JSON.stringify(agent.name)} is not set up`,
        reasonOfStop(cause),
      );
      return { ...result, agents, differences, actions, status: 'failed', error };
    }
  }
  return { ...result, agents, differences, actions, status };
}
