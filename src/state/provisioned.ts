import { hash } from 'node:crypto';
import { isJsonObject } from '../contract/json.ts';
import { appendRecord, readLog } from './log.ts';
import { fieldText, type LogRecord, recordHead, type Stamp } from './record.ts';
import { type UnusableLine, unusableLine } from './unusable.ts';

interface ProvisionedAgent {
  readonly agent_id: string;
  /** See `agentKey`. */
  readonly key: string;
  /** The agent's API chat source, where a run learnt it. */
  readonly source_id?: string | undefined;
}

/** What is known of a space that an earlier run created or reused. */
export interface ProvisionedSpace {
  readonly space_id: string;
  /** Hash of the document that the space was last provisioned from. */
  readonly content_hash: string;
  readonly agents: readonly ProvisionedAgent[];
}

/** What one provisioning run has to tell the next. */
export interface ProvisionFacts extends ProvisionedSpace {
  /** The service: origin and base path. */
  readonly origin: string;
  readonly external_space_id: string;
}

export interface ProvisionedLookUp {
  /** By external_space_id. */
  readonly spaces: ReadonlyMap<string, ProvisionedSpace>;
  readonly damaged: readonly UnusableLine[];
}

const TYPE = 'space';

/** Searching for a few ids is much faster than reading every record; for many it is not. */
const MOST_SEARCHED = 8;

/** What identifies an agent of a manifest without naming it: a hash of its name and template. */
export function agentKey(name: string, templateId: string): string {
  return hash('sha256', JSON.stringify([name, templateId]), 'hex');
}

function withoutMore({ agent_id, key, source_id }: ProvisionedAgent): ProvisionedAgent {
  return { agent_id, key, ...(source_id !== undefined && { source_id }) };
}

/** Whether what is known of agents says as much as these do. */
export function sayAsMuch(known: readonly ProvisionedAgent[], agents: readonly ProvisionedAgent[]): boolean {
  const sources = new Map(known.map(({ agent_id, source_id }) => [agent_id, source_id]));
  return agents.every(
    ({ agent_id, source_id }) =>
      sources.has(agent_id) && (source_id === undefined || sources.get(agent_id) === source_id),
  );
}

/** Agents of one space, as earlier and later runs know them: what is known later counts, and nothing is forgotten. */
export function joined(
  earlier: readonly ProvisionedAgent[],
  later: readonly ProvisionedAgent[],
): readonly ProvisionedAgent[] {
  const agents = new Map(earlier.map((agent) => [agent.agent_id, agent]));
  for (const agent of later) {
    const source_id = agent.source_id ?? agents.get(agent.agent_id)?.source_id;
    agents.set(agent.agent_id, withoutMore({ ...agent, source_id }));
  }
  return [...agents.values()];
}

/**
 * Records that a space was provisioned, and the agents that were installed in it. Resolves once it is on disk.
 * @throws LocalError when the state file cannot be written.
 */
export async function recordProvisioned(path: string, facts: ProvisionFacts, stamp: Stamp): Promise<void> {
  const { origin, external_space_id, space_id, content_hash } = facts;
  const agents = facts.agents.map(withoutMore);
  await appendRecord(path, {
    ...recordHead(TYPE, stamp),
    origin,
    external_space_id,
    space_id,
    content_hash,
    agents,
  });
}

function isAgent(value: unknown): value is ProvisionedAgent {
  if (!isJsonObject(value) || typeof value.agent_id !== 'string' || typeof value.key !== 'string') return false;
  return value.source_id === undefined || typeof value.source_id === 'string';
}

function factsOf(record: LogRecord): ProvisionFacts | undefined {
  const { origin, external_space_id, space_id, content_hash, agents } = record;
  if (typeof origin !== 'string' || typeof external_space_id !== 'string') return undefined;
  if (typeof space_id !== 'string' || typeof content_hash !== 'string') return undefined;
  if (!Array.isArray(agents) || !agents.every(isAgent)) return undefined;
  return { origin, external_space_id, space_id, content_hash, agents };
}

/** Merges the records of one external id: the last space counts, with the agents that were ever recorded for it. */
function merged(records: readonly ProvisionFacts[]): ProvisionedSpace | undefined {
  const last = records.at(-1);
  if (last === undefined) return undefined;
  const { space_id, content_hash } = last;
  // An agent lives in its space; those of a space that was since replaced are gone.
  const ofSpace = records.filter((record) => record.space_id === space_id);
  return {
    space_id,
    content_hash,
    agents: ofSpace.reduce<readonly ProvisionedAgent[]>((agents, record) => joined(agents, record.agents), []),
  };
}

/**
 * What earlier runs recorded about the given spaces of one service.
 * @throws LocalError when the state file is there and cannot be read.
 */
export async function lookUpProvisioned(
  path: string,
  origin: string,
  externalIds: ReadonlySet<string>,
): Promise<ProvisionedLookUp> {
  const damaged: UnusableLine[] = [];
  const found = new Map<string, ProvisionFacts[]>();
  const few = externalIds.size <= MOST_SEARCHED;
  const containing = few
    ? [...externalIds].map((externalId) => fieldText('external_space_id', externalId))
    : [fieldText('type', TYPE)];
  for await (const entry of readLog(path, { containing })) {
    const trouble = unusableLine(entry);
    if (trouble !== undefined) damaged.push(trouble);
    if (entry.kind !== 'record' || entry.record.type !== TYPE) continue;
    const facts = factsOf(entry.record);
    if (facts === undefined) {
      damaged.push({ line: entry.line, why: 'not a whole record of a space' });
    } else if (facts.origin === origin && externalIds.has(facts.external_space_id)) {
      const earlier = found.get(facts.external_space_id);
      if (earlier === undefined) found.set(facts.external_space_id, [facts]);
      else earlier.push(facts);
    }
  }
  const spaces = new Map<string, ProvisionedSpace>();
  for (const [externalId, records] of found) {
    const space = merged(records);
    if (space !== undefined) spaces.set(externalId, space);
  }
  return { spaces, damaged };
}
