import * as v from 'valibot';
import { comparableAgent } from '../contract/values.ts';
import type { LogRecord } from './record.ts';

/** The type of the record of a space that was provisioned: a fact, which needs no reservation (spec §4.6). */
export const SPACE_TYPE = 'space';

const factSchema = v.object({
  /** The base URL of the service. */
  origin: v.string(),
  external_space_id: v.string(),
  space_id: v.string(),
  agents: v.array(
    v.object({
      agent_id: v.string(),
      /** As it was installed. */
      name: v.string(),
      template_id: v.string(),
      /** The source of its API chat, if it is known. */
      source_id: v.nullable(v.string()),
    }),
  ),
});

/** What the state keeps of a provisioned space: ids, and the names of agents. */
export type SpaceFact = v.InferOutput<typeof factSchema>;

/** The recorded agent that an agent of a manifest is: of its name, in any Unicode form, and its template. */
export function recordOf(
  fact: SpaceFact | undefined,
  { name, template_id }: { readonly name: string; readonly template_id?: string | undefined },
): SpaceFact['agents'][number] | undefined {
  const isSame = (other: string) => other.normalize('NFC') === name.normalize('NFC');
  return fact?.agents.findLast((each) => each.template_id === template_id && isSame(each.name));
}

function decodeFacts(records: readonly LogRecord[], origin: string): SpaceFact[] {
  return records.flatMap((record) => {
    if (record.type !== SPACE_TYPE) return [];
    const { success, output } = v.safeParse(factSchema, record);
    return success && output.origin === origin ? [output] : [];
  });
}

const jobSchema = v.object({ key: v.string(), data: v.object({ agent_id: v.string() }) });

/** The records about a space, of any service: its own ones, and those of the jobs of the agents that they name. */
export function recordsOfSpace(
  records: readonly LogRecord[],
  field: 'space_id' | 'external_space_id',
  id: string,
): readonly LogRecord[] {
  const isOwn = (record: LogRecord) => record.type === SPACE_TYPE && record[field] === id;
  const agents = new Set(
    records.filter(isOwn).flatMap((record) => {
      const { success, output } = v.safeParse(factSchema, record);
      return success ? output.agents.map(({ agent_id }) => comparableAgent(agent_id)) : [];
    }),
  );
  // What ends a reservation has only its key.
  const keys = new Set(
    records.flatMap((record) => {
      const { success, output } = v.safeParse(jobSchema, record);
      return success && agents.has(comparableAgent(output.data.agent_id)) ? [output.key] : [];
    }),
  );
  return records.filter((record) => isOwn(record) || (typeof record.key === 'string' && keys.has(record.key)));
}

/** The last fact about each space of a service, by external id. */
export function readFacts(records: readonly LogRecord[], origin: string): ReadonlyMap<string, SpaceFact> {
  return new Map(decodeFacts(records, origin).map((fact) => [fact.external_space_id, fact]));
}

/** In which space each agent of a service is, and how it is called, by `comparableAgent`. */
export function readAgents(records: readonly LogRecord[], origin: string) {
  return new Map(
    decodeFacts(records, origin).flatMap(({ agents, external_space_id }) =>
      agents.map(({ agent_id, name }) => [comparableAgent(agent_id), { external_space_id, name }] as const),
    ),
  );
}
