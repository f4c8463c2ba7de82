import { hash } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { comparableAgent } from '../contract/values.ts';
import type { LogRecord } from '../state/record.ts';
import type { ManifestAgent } from './manifest.ts';

/** The type of the record of a space that was provisioned: a fact, which needs no reservation (spec §4.6). */
const SPACE_TYPE = 'space';

/** An agent as the state records it. */
interface RecordedAgent {
  /** See `agentKey`. */
  readonly key: string;
  readonly agent_id: string;
  readonly template_id: string;
  /** The source of its API chat, if it is known. */
  readonly source_id: string | null;
}

/** What the state keeps of a provisioned space: ids and hashes, no texts. */
export interface SpaceFact {
  /** The base URL of the service. */
  readonly origin: string;
  readonly external_space_id: string;
  readonly space_id: string;
  readonly agents: readonly RecordedAgent[];
}

/** Identifies an agent of a manifest without naming it: a hash of its name, in Unicode NFC, and its template. */
export function agentKey({ name, template_id }: Pick<ManifestAgent, 'name' | 'template_id'>): string {
  return hash('sha256', JSON.stringify([name.normalize('NFC'), template_id]), 'hex').slice(0, 24);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function decodeAgent(value: unknown): RecordedAgent[] {
  if (!isJsonObject(value)) return [];
  const { key, agent_id, template_id, source_id } = value;
  if (!isText(key) || !isText(agent_id) || !isText(template_id)) return [];
  return [{ key, agent_id, template_id, source_id: isText(source_id) ? source_id : null }];
}

function decodeFact({ type, origin, external_space_id, space_id, agents }: LogRecord): SpaceFact | undefined {
  if (type !== SPACE_TYPE || !isText(origin) || !isText(external_space_id) || !isText(space_id)) return undefined;
  return { origin, external_space_id, space_id, agents: Array.isArray(agents) ? agents.flatMap(decodeAgent) : [] };
}

/** The last fact about each space of a service, by external id. */
export function readFacts(records: readonly LogRecord[], origin: string): ReadonlyMap<string, SpaceFact> {
  const facts = records.flatMap((record) => decodeFact(record) ?? []).filter((fact) => fact.origin === origin);
  return new Map(facts.map((fact) => [fact.external_space_id, fact]));
}

/** The external id of the space of each agent, by `comparableAgent`. @param origin undefined for all services */
export function readAgentSpaces(
  records: readonly LogRecord[],
  origin: string | undefined,
): ReadonlyMap<string, string> {
  const facts = records.flatMap((record) => decodeFact(record) ?? []);
  const own = facts.filter((fact) => origin === undefined || fact.origin === origin);
  return new Map(
    own.flatMap(({ agents, external_space_id }) =>
      agents.map(({ agent_id }) => [comparableAgent(agent_id), external_space_id] as const),
    ),
  );
}

/** The fields of the record of a space. */
export function factRecord(fact: SpaceFact): { readonly type: string; readonly fields: JsonObject } {
  const agents = fact.agents.map((agent): JsonObject => ({ ...agent }));
  return { type: SPACE_TYPE, fields: { ...fact, agents } };
}
