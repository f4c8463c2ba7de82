import { setUpChatSource } from '../api/chat.ts';
import type { Http } from '../api/http.ts';
import { CHAT_DEFAULTS, type ChatSetup, chatDifferences } from '../chat/source.ts';
import type { ChatSource } from '../contract/chat-source.ts';
import { inStep, unnamedAgent } from './failure.ts';
import type { ManifestAgent, ManifestDocument } from './manifest.ts';
import type { Difference } from './plan.ts';
import type { AgentResult, DocumentResult } from './result.ts';

/** What an agent's chat is to be; undefined where the manifest does not ask for one. */
function askedFor({ chat, api_chat_routing_mode }: ManifestAgent): Partial<ChatSetup> | undefined {
  return chat && { ...(api_chat_routing_mode && { routing_mode: api_chat_routing_mode }), ...chat };
}

/** Whether it was known before anything was sent which source the agent has. */
function isKnown({ status, source_id }: AgentResult): boolean {
  return status === 'unchanged' && source_id !== null;
}

async function setUp(
  http: Http,
  spaceId: string,
  agent: AgentResult,
  asked: Partial<ChatSetup>,
): Promise<{ source: ChatSource; differences: Difference[] }> {
  if (agent.agent_id === null) {
    throw unnamedAgent(spaceId, 'chat setup');
  }
  const source = await setUpChatSource(http, spaceId, agent.agent_id, { ...CHAT_DEFAULTS, ...asked });
  const differences = chatDifferences(source, asked).map((each) => ({
    field: `agents[${agent.name}].chat.${each.field}`,
    service: each.service,
    manifest: each.asked,
  }));
  return { source, differences };
}

/**
 * Sets up the API chat of those agents of a provisioned document that are to have one (spec §4.2). The call is safe to
 * repeat; an agent that was there and whose source the service names, or the state file knows, needs none.
 * @param result what provisioning came to, its agents in the order of the manifest's
 * @returns the result with the sources. A failure is in it, beside what was done until then; nothing is thrown.
 */
export async function setUpChats(
  http: Http,
  { manifest }: ManifestDocument,
  result: DocumentResult,
): Promise<DocumentResult> {
  const agents = [...result.agents];
  const differences = [...result.differences];
  let { status } = result;
  for (const [index, agent] of result.agents.entries()) {
    const wanted = manifest.agents[index];
    const asked = wanted && askedFor(wanted);
    if (asked === undefined || result.space_id === null || isKnown(agent)) continue;
    try {
      const done = await setUp(http, result.space_id, agent, asked);
      agents[index] = { ...agent, source_id: done.source.source_id };
      differences.push(...done.differences);
      if (status === 'unchanged' && done.source.created) status = 'reused';
    } catch (error) {
      return {
        ...result,
        agents,
        differences,
        status: 'failed',
        error: inStep(`The API chat of the agent ${JSON.stringify(agent.name)} is not set up`, error),
      };
    }
  }
  return { ...result, agents, differences, status };
}
