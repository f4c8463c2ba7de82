import { findId, findText } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { UsageError } from '../errors.ts';
import { listAgents } from './agents.ts';
import type { Http } from './http.ts';
import { lookUpId } from './look-up.ts';
import { parseReference, type Reference } from './reference.ts';

/** How an agent is named on the command line. */
export type AgentReference = Extract<Reference, { by: 'id' }> | { readonly by: 'name'; readonly value: string };

/**
 * `<agent>`: an agent_id or `name:<name>`.
 * @throws UsageError for `ext:`, which only a space has
 */
export function parseAgentReference(text: string): AgentReference {
  const { by, value } = parseReference(text);
  if (by !== 'external_space_id') return { by, value };
  throw new UsageError(`An agent has no id of your own, so ${JSON.stringify(text)} names none.`, {
    hint: 'Name it by its agent_id, or as name:<name>.',
  });
}

function label(agent: JsonObject): string {
  const name = findText(agent, 'agent', 'name');
  return [findId(agent, 'agent'), name, findText(agent, 'agent', 'template_id')].filter(Boolean).join(' · ');
}

/**
 * The agent_id that a reference means. An id is taken as it is; a name is looked up in the list of the space.
 * @throws NotFoundError when nothing matches, or there is no such space; UsageError when several match. Both name
 * candidates. ShapeError for one without an id
 */
export async function findAgentId(http: Http, spaceId: string, reference: AgentReference): Promise<string> {
  if (reference.by === 'id') return reference.value;
  return lookUpId(listAgents(http, spaceId), {
    resource: 'agent',
    named: { by: reference.by, value: reference.value },
    label,
    whenEmpty: 'The space has no agents.',
    shownBy: `partnerctl agents list ${spaceId}`,
  });
}
