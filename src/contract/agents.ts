import { readSettings, type SourceSettings } from './chat-source.ts';
import type { Contract } from './contract.ts';
import { byNormalName } from './field-names.ts';
import { type Fields, fieldsOf } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { asId } from './values.ts';

/** A listed agent. */
export interface ListedAgent {
  readonly agent_id: string;
  readonly name: string | undefined;
  /** The spec mentions it only in requests; undefined if the service does not return it. */
  readonly template_id: string | undefined;
  /** The API chat source from the integration metadata: null if there is none, undefined if it is not mentioned. */
  readonly source_id: string | null | undefined;
  /** The settings of the source, if the integration metadata has them. */
  readonly source?: SourceSettings | undefined;
  /** The object as the service sent it. */
  readonly item: JsonObject;
}

const SOURCE_ID = 'agent.source_id';

/**
 * Reads an agent's source, whose place the spec leaves open.
 * @throws UnknownShape if several places name different sources: an agent has one (spec §2)
 */
function readSource(agent: JsonObject, fields: Fields, contract: Contract): Pick<ListedAgent, 'source_id' | 'source'> {
  const id = fields.id(SOURCE_ID);
  const found = fields.all(SOURCE_ID);
  if (id === undefined) {
    const integrations = byNormalName(agent).get('integrations');
    const chat = isJsonObject(integrations) ? byNormalName(integrations).get('apichat') : undefined;
    return { source_id: chat === null || found.some(({ value }) => value === null) ? null : undefined };
  }
  const holder = found.find(({ value }) => asId(value) === id)?.holder;
  // The fields beside it at the top are those of the agent.
  const isOwn = holder !== undefined && holder !== agent;
  return { source_id: id, source: isOwn ? readSettings(fieldsOf(holder, 'source', contract)) : undefined };
}

/**
 * Reads one agent of a list.
 * @throws UnknownShape if the agent has no id, or if a field that was sent cannot be read
 */
export function readAgent(agent: JsonObject, contract: Contract): ListedAgent {
  const fields = fieldsOf(agent, 'agent', contract);
  return {
    agent_id: fields.readId('agent.id'),
    name: fields.shownText('agent.name'),
    template_id: fields.text('agent.template_id'),
    item: agent,
    ...readSource(agent, fields, contract),
  };
}
