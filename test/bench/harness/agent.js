const PROVISION = '/automation/agent-templates/provision-space/';

/** Creates a space with one agent that echoes. Returns the ids of the agent and its API chat source. */
export async function makeAgent({ PARTNER_BASE_URL, PARTNER_TOKEN }) {
  const response = await fetch(PARTNER_BASE_URL + PROVISION, {
    method: 'POST',
    headers: { authorization: `Bearer ${PARTNER_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      external_space_id: 'bench-chat',
      space: { name: 'Bench' },
      agents: [{ template_id: 'tmpl_support', name: 'Support', auto_create_api_chat: true }],
    }),
  });
  const { agents } = await response.json();
  return { agent: agents[0].agent_id, source: agents[0].integrations.api_chat.source_id };
}
