import type { ManifestDocument } from './manifest.ts';
import type { PlannedAgent, PresentAgent, ProvisionPlan } from './plan.ts';
import type { AgentResult, DocumentResult } from './result.ts';

/** The document's own facts, with nothing done. */
export function untouched(document: ManifestDocument, status: 'failed' | 'skipped' | 'planned'): DocumentResult {
  const { index, source, manifest } = document;
  return {
    index,
    source,
    external_space_id: manifest.external_space_id,
    space_id: null,
    status,
    agents: manifest.agents.map(({ name, template_id }) => ({
      agent_id: null,
      name,
      template_id,
      status,
      source_id: null,
    })),
    cron: [],
    differences: [],
  };
}

/** One agent of a plan, with what was found of it. */
export function agentResult(
  { wanted }: PlannedAgent,
  found: PresentAgent | undefined,
  status: AgentResult['status'],
): AgentResult {
  const { name, template_id } = wanted;
  return { agent_id: found?.agent_id ?? null, name, template_id, status, source_id: found?.source_id ?? null };
}

/**
 * A document that is now as it should be.
 * @param first the plan before anything was sent: it tells what is new
 * @param agents the agents that are there now, one for each of the plan
 */
export function finished(
  document: ManifestDocument,
  first: ProvisionPlan,
  spaceId: string,
  agents: readonly (PresentAgent | undefined)[],
  created?: boolean,
): DocumentResult {
  const changed = first.action === 'create' && created !== false ? 'created' : 'reused';
  return {
    ...untouched(document, 'planned'),
    space_id: spaceId,
    status: first.action === 'none' ? 'unchanged' : changed,
    agents: first.agents.map((agent, index) =>
      agentResult(agent, agents[index], agent.present ? 'unchanged' : 'created'),
    ),
    differences: first.differences,
  };
}
