import { hash } from 'node:crypto';
import { isJsonObject } from '../contract/json.ts';
import { appendRecord } from './append.ts';
import { readLog, type UnusableLine, unusableLine } from './log.ts';
import { fieldText, type LogRecord, recordHead, type Stamp } from './record.ts';

interface RecordedAgent {
  readonly agent_id: string;
  /** See `agentKey`. */
  readonly key: string;
  /** The agent's API chat source, if an earlier run recorded it. */
  readonly source_id?: string | undefined;
}

/** A space that an earlier run created or reused. */
export interface RecordedSpace {
  readonly space_id: string;
  /** The hash of the manifest that the space was last provisioned from. */
  readonly content_hash: string;
  readonly agents: readonly RecordedAgent[];
}

/** A state file record with which one provisioning run informs the next. */
export interface SpaceRecord extends RecordedSpace {
  /** The service: origin and base path. */
  readonly origin: string;
  readonly external_space_id: string;
}

export interface RecordedSpaces {
  /** By external_space_id. */
  readonly spaces: ReadonlyMap<string, RecordedSpace>;
  readonly damaged: readonly UnusableLine[];
}

const TYPE = 'space';

/** Searching the file for a few ids is much faster than decoding every record. For many ids, it is not. */
const MAX_SEARCHED_IDS = 8;

/** Identifies an agent of a manifest without naming it: a hash of its name and template. */
export function agentKey(name: string, templateId: string): string {
  return hash('sha256', JSON.stringify([name, templateId]), 'hex');
}

function toRecordedAgent({ agent_id, key, source_id }: RecordedAgent): RecordedAgent {
  return { agent_id, key, ...(source_id !== undefined && { source_id }) };
}

/** Merges the agents that an earlier and a later run recorded for a space. Later values win; no agent is dropped. */
export function mergeAgents(
  earlier: readonly RecordedAgent[],
  later: readonly RecordedAgent[],
): readonly RecordedAgent[] {
  const agents = new Map(earlier.map((agent) => [agent.agent_id, agent]));
  for (const agent of later) {
    const source_id = agent.source_id ?? agents.get(agent.agent_id)?.source_id;
    agents.set(agent.agent_id, toRecordedAgent({ ...agent, source_id }));
  }
  return [...agents.values()];
}

/**
 * Records that a space was provisioned, with the agents installed in it. Resolves once it is on disk.
 * @throws LocalError if the state file cannot be written
 */
export async function recordProvisioned(path: string, space: SpaceRecord, stamp: Stamp): Promise<void> {
  const { origin, external_space_id, space_id, content_hash } = space;
  const agents = space.agents.map(toRecordedAgent);
  const head = recordHead(TYPE, stamp);
  await appendRecord(path, { ...head, origin, external_space_id, space_id, content_hash, agents });
}

function isAgent(value: unknown): value is RecordedAgent {
  if (!isJsonObject(value) || typeof value.agent_id !== 'string' || typeof value.key !== 'string') return false;
  return value.source_id === undefined || typeof value.source_id === 'string';
}

function readSpaceRecord(record: LogRecord): SpaceRecord | undefined {
  const { origin, external_space_id, space_id, content_hash, agents } = record;
  if (typeof origin !== 'string' || typeof external_space_id !== 'string') return undefined;
  if (typeof space_id !== 'string' || typeof content_hash !== 'string') return undefined;
  if (!Array.isArray(agents) || !agents.every(isAgent)) return undefined;
  return { origin, external_space_id, space_id, content_hash, agents };
}

/**
 * Returns the records of earlier runs about these spaces of one service.
 * @throws LocalError if the state file exists but cannot be read
 */
export async function findProvisioned(
  path: string,
  origin: string,
  externalIds: ReadonlySet<string>,
): Promise<RecordedSpaces> {
  const damaged: UnusableLine[] = [];
  const spaces = new Map<string, RecordedSpace>();
  // A replaced space took its agents with it, so merge agents by space_id. The last record has the current space.
  const agentsBySpace = new Map<string, readonly RecordedAgent[]>();
  const containing =
    externalIds.size <= MAX_SEARCHED_IDS
      ? [...externalIds].map((externalId) => fieldText('external_space_id', externalId))
      : [fieldText('type', TYPE)];
  for await (const entry of readLog(path, { containing })) {
    const unusable = unusableLine(entry);
    if (unusable !== undefined) damaged.push(unusable);
    if (entry.kind !== 'record' || entry.record.type !== TYPE) continue;
    const space = readSpaceRecord(entry.record);
    if (space === undefined) damaged.push({ line: entry.line, why: 'not a complete record of a space' });
    else if (space.origin === origin && externalIds.has(space.external_space_id)) {
      const { space_id, content_hash } = space;
      const agents = mergeAgents(agentsBySpace.get(space_id) ?? [], space.agents);
      agentsBySpace.set(space_id, agents);
      spaces.set(space.external_space_id, { space_id, content_hash, agents });
    }
  }
  return { spaces, damaged };
}
