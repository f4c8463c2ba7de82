import { hash } from 'node:crypto';
import type { Context } from '../cli/context.ts';
import { LocalError } from '../errors.ts';
import { lineWarner } from '../state/log.ts';
import { agentKey, findProvisioned, mergeAgents, type RecordedSpace, recordProvisioned } from '../state/provisioned.ts';
import { randomRecordId } from '../state/record.ts';
import type { Manifest, ManifestDocument } from './manifest.ts';
import type { PresentSpace } from './plan.ts';
import type { AgentResult } from './result.ts';

/** What the state file records about the spaces of a run. */
export interface ProvisionHistory {
  /** The space as earlier runs left it, with those of the manifest's agents that they installed. */
  recall(manifest: Manifest): PresentSpace | undefined;
  record(manifest: Manifest, spaceId: string, agents: readonly AgentResult[]): Promise<void>;
}

/** Hashes what provisioning installs. Chats and jobs are excluded: adding one later does not change the agent. */
function contentHash(manifest: Manifest): string {
  const agents = manifest.agents.map(({ chat: _, cron: __, ...agent }) => agent);
  return hash('sha256', JSON.stringify({ ...manifest, agents }), 'hex');
}

function toPresentSpace(known: RecordedSpace, manifest: Manifest): PresentSpace {
  const agentsByKey = new Map(known.agents.map((agent) => [agent.key, agent]));
  // A space is recorded when its whole document is applied, even if the service did not name the agents.
  const isComplete = known.content_hash === contentHash(manifest);
  const agents = manifest.agents.flatMap(({ name, template_id }) => {
    const agent = agentsByKey.get(agentKey(name, template_id));
    if (!isComplete && !agent) return [];
    return [{ agent_id: agent?.agent_id, name, template_id, source_id: agent?.source_id }];
  });
  return { space_id: known.space_id, agents };
}

/**
 * Completes the remote state from the state file: with the names and templates that an earlier run installed the agents
 * with, because a service may list other names or none, and with chat sources that the service does not show.
 */
export function withHistory(present: PresentSpace, recalled: PresentSpace | undefined): PresentSpace {
  if (recalled?.space_id !== present.space_id) return present;
  const known = new Map(recalled.agents.map((agent) => [agent.agent_id, agent]));
  const agents = present.agents.map((agent) => {
    const recorded = agent.agent_id === undefined ? undefined : known.get(agent.agent_id);
    if (!recorded) return agent;
    const { name, template_id } = recorded;
    const source_id = agent.source_id === undefined ? recorded.source_id : agent.source_id;
    return { ...agent, name, template_id, source_id };
  });
  return { ...present, agents };
}

/** Whether the state file already records this space, so that repeated runs do not make it grow. */
function isRecorded(known: RecordedSpace | undefined, space: RecordedSpace, areAllNamed: boolean): boolean {
  if (known?.space_id !== space.space_id) return false;
  const sources = new Map(known.agents.map(({ agent_id, source_id }) => [agent_id, source_id]));
  const areKnown = space.agents.every(
    ({ agent_id, source_id }) =>
      sources.has(agent_id) && (source_id === undefined || sources.get(agent_id) === source_id),
  );
  return areKnown && (areAllNamed || known.content_hash === space.content_hash);
}

/** The recorded spaces of a run. A file that cannot be read is a warning. */
async function readSpaces(
  context: Context,
  origin: string,
  documents: readonly ManifestDocument[],
  reportedLines: Set<number>,
): Promise<ReadonlyMap<string, RecordedSpace>> {
  const path = await context.statePath();
  const wanted = new Set(documents.map(({ manifest }) => manifest.external_space_id));
  try {
    const { spaces, damaged } = await findProvisioned(path, origin, wanted);
    const warn = lineWarner(path, (text) => context.warn(text), reportedLines);
    for (const line of damaged) await warn(line);
    return spaces;
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    await context.warn(`${error.message} This run knows only what the service lists, not what earlier runs did.`);
    return new Map();
  }
}

/**
 * Opens the state file for a run. Provisioning works without it, so a file that cannot be read or written is a warning.
 * @param origin the base URL of the service that the records belong to
 * @param reportedLines receives the numbers of the lines that this warns about
 */
export async function openHistory(
  context: Context,
  origin: string,
  documents: readonly ManifestDocument[],
  reportedLines: Set<number>,
): Promise<ProvisionHistory> {
  const path = await context.statePath();
  const spaces = new Map(await readSpaces(context, origin, documents, reportedLines));
  let isWritable = true;

  async function append(externalId: string, space: RecordedSpace): Promise<void> {
    if (!isWritable) return;
    const stamp = { now: context.clock.now, newId: randomRecordId };
    try {
      await recordProvisioned(path, { ...space, origin, external_space_id: externalId }, stamp);
    } catch (error) {
      if (!(error instanceof LocalError)) throw error;
      isWritable = false;
      await context.warn(`${error.message} The next run will not know what this run does.`);
    }
  }

  return {
    recall(manifest) {
      const known = spaces.get(manifest.external_space_id);
      return known && toPresentSpace(known, manifest);
    },
    async record(manifest, spaceId, results) {
      const externalId = manifest.external_space_id;
      const known = spaces.get(externalId);
      const agents = results.flatMap(({ agent_id, name, template_id, source_id }) =>
        agent_id === null ? [] : [{ agent_id, key: agentKey(name, template_id), source_id: source_id ?? undefined }],
      );
      const space = { space_id: spaceId, content_hash: contentHash(manifest), agents };
      if (isRecorded(known, space, agents.length === results.length)) return;
      const earlier = known?.space_id === spaceId ? known.agents : [];
      spaces.set(externalId, { ...space, agents: mergeAgents(earlier, agents) });
      await append(externalId, space);
    },
  };
}
