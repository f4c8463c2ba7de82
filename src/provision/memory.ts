import { createHash } from 'node:crypto';
import type { Context } from '../cli/context.ts';
import { LocalError } from '../errors.ts';
import {
  agentKey,
  joined,
  lookUpProvisioned,
  type ProvisionedSpace,
  recordProvisioned,
  sayAsMuch,
} from '../state/provisioned.ts';
import { randomRecordId } from '../state/record.ts';
import type { Manifest, ManifestDocument } from './manifest.ts';
import type { PresentSpace } from './plan.ts';
import type { AgentResult } from './result.ts';

/** What the state file knows of the spaces of a run, and how it learns more. */
export interface Memory {
  /** A space as the file remembers it, with those of the wanted agents that were installed. */
  recall(manifest: Manifest): PresentSpace | undefined;
  record(manifest: Manifest, spaceId: string, agents: readonly AgentResult[]): Promise<void>;
}

/** Of what provisioning installs: a chat or a cron job that is asked for later makes no agent a new one. */
function hashOf(manifest: Manifest): string {
  const agents = manifest.agents.map(({ chat: _, cron: __, ...agent }) => agent);
  return createHash('sha256')
    .update(JSON.stringify({ ...manifest, agents }))
    .digest('hex');
}

function toPresent(known: ProvisionedSpace, manifest: Manifest): PresentSpace {
  const agentsByKey = new Map(known.agents.map((agent) => [agent.key, agent]));
  // A space is recorded once all of its document is done, whether or not the service named the agents.
  const whole = known.content_hash === hashOf(manifest);
  const agents = manifest.agents.flatMap(({ name, template_id }) => {
    const agent = agentsByKey.get(agentKey(name, template_id));
    return whole || agent ? [{ agent_id: agent?.agent_id, name, template_id, source_id: agent?.source_id }] : [];
  });
  return { space_id: known.space_id, agents };
}

/**
 * What is there, with the names and templates under which an earlier run installed the agents (a service may list them
 * under other names, or without), and with the sources that it learnt where the service does not tell any.
 */
export function withMemory(present: PresentSpace, recalled: PresentSpace | undefined): PresentSpace {
  if (recalled?.space_id !== present.space_id) return present;
  const known = new Map(recalled.agents.map((agent) => [agent.agent_id, agent]));
  const agents = present.agents.map((agent) => {
    const remembered = agent.agent_id === undefined ? undefined : known.get(agent.agent_id);
    if (!remembered) return agent;
    const { name, template_id } = remembered;
    return {
      ...agent,
      name,
      template_id,
      source_id: agent.source_id === undefined ? remembered.source_id : agent.source_id,
    };
  });
  return { ...present, agents };
}

/** Whether the file says all of this already, so that repeats do not make it grow. */
function isKnown(known: ProvisionedSpace | undefined, facts: ProvisionedSpace, isWhole: boolean): boolean {
  if (known?.space_id !== facts.space_id) return false;
  return sayAsMuch(known.agents, facts.agents) && (isWhole || known.content_hash === facts.content_hash);
}

/**
 * Opens the state file for a run. Provisioning can do without it, so a file that cannot be read or written is a warning.
 * @param origin the base address of the service, to which the records belong
 * @param said takes up the lines of the file that are warned of
 */
export async function openMemory(
  context: Context,
  origin: string,
  documents: readonly ManifestDocument[],
  said: Set<number>,
): Promise<Memory> {
  const path = await context.statePath();
  const wanted = new Set(documents.map(({ manifest }) => manifest.external_space_id));
  const spaces = new Map(await remembered(context, path, origin, wanted, said));
  let writable = true;
  return {
    recall(manifest) {
      const known = spaces.get(manifest.external_space_id);
      return known && toPresent(known, manifest);
    },
    async record(manifest, spaceId, agents) {
      const id = manifest.external_space_id;
      const known = spaces.get(id);
      const named = agents.flatMap(({ agent_id, name, template_id, source_id }) =>
        agent_id === null ? [] : [{ agent_id, key: agentKey(name, template_id), source_id: source_id ?? undefined }],
      );
      const facts = { space_id: spaceId, content_hash: hashOf(manifest), agents: named };
      if (isKnown(known, facts, named.length === agents.length)) return;
      const earlier = known?.space_id === spaceId ? known.agents : [];
      spaces.set(id, { ...facts, agents: joined(earlier, named) });
      try {
        if (writable)
          await recordProvisioned(
            path,
            { ...facts, origin, external_space_id: id },
            { now: context.clock.now, newId: randomRecordId },
          );
      } catch (error) {
        if (!(error instanceof LocalError)) throw error;
        writable = false;
        await context.warn(`${error.message} What this run does is not remembered there.`);
      }
    },
  };
}

async function remembered(
  context: Context,
  path: string,
  origin: string,
  wanted: ReadonlySet<string>,
  said: Set<number>,
): Promise<ReadonlyMap<string, ProvisionedSpace>> {
  try {
    const { spaces, damaged } = await lookUpProvisioned(path, origin, wanted);
    for (const { line, why } of damaged) {
      said.add(line);
      await context.warn(`${path}:${line} is left out: ${why}`);
    }
    return spaces;
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    await context.warn(`${error.message} What earlier runs did is looked up at the service alone.`);
    return new Map();
  }
}
