import { type CronResult, cronResultJson } from '../cron/cron-result.ts';
import { type ErrorObject, type PartnerctlError, toErrorObject } from '../errors.ts';
import { countByStatus } from '../output/batch-result.ts';
import type { ManifestDocument } from './manifest.ts';
import type { Difference, PlannedAgent, PresentAgent, ProvisionPlan } from './plan.ts';

export type DocumentStatus = 'created' | 'reused' | 'unchanged' | 'planned' | 'failed' | 'skipped';

export interface AgentResult {
  readonly agent_id: string | null;
  readonly name: string;
  readonly template_id: string;
  readonly status: 'created' | 'unchanged' | 'planned' | 'failed' | 'skipped';
  readonly source_id: string | null;
}

/** The outcome of one document. */
export interface DocumentResult {
  readonly index: number;
  readonly source: string;
  readonly external_space_id: string;
  readonly space_id: string | null;
  readonly status: DocumentStatus;
  /** In the order of the manifest. */
  readonly agents: readonly AgentResult[];
  /** The scheduled jobs of the agents, in the order of the manifest. */
  readonly cron: readonly CronResult[];
  /** In a dry run: what would be done. */
  readonly action?: 'create' | 'install';
  readonly differences: readonly Difference[];
  readonly error?: unknown;
}

/** One agent of a plan. @param found the existing agent it was paired with */
export function agentResult(
  { wanted: { name, template_id } }: Pick<PlannedAgent, 'wanted'>,
  found: PresentAgent | undefined,
  status: AgentResult['status'],
): AgentResult {
  return { agent_id: found?.agent_id ?? null, name, template_id, status, source_id: found?.source_id ?? null };
}

/** The result of a document for which nothing was done. */
export function initialResult(document: ManifestDocument, status: 'failed' | 'skipped' | 'planned'): DocumentResult {
  const { index, source, manifest } = document;
  return {
    index,
    source,
    external_space_id: manifest.external_space_id,
    space_id: null,
    status,
    agents: manifest.agents.map((wanted) => agentResult({ wanted }, undefined, status)),
    cron: [],
    differences: [],
  };
}

export interface AppliedSpace {
  readonly spaceId: string;
  /** The existing agents, one for each agent of the plan. */
  readonly agents: readonly (PresentAgent | undefined)[];
  /** False if the service says that the space existed before. */
  readonly created?: boolean | undefined;
  /** Why some of the agents that were installed have no id. */
  readonly failure?: PartnerctlError | undefined;
}

/**
 * The result of a document whose space and agents now exist.
 * @param firstPlan the plan before anything was sent: it tells what is new
 */
export function appliedResult(
  document: ManifestDocument,
  firstPlan: ProvisionPlan,
  { spaceId, agents, created }: AppliedSpace,
): DocumentResult {
  const changed = firstPlan.action === 'create' && created !== false ? 'created' : 'reused';
  return {
    ...initialResult(document, 'planned'),
    space_id: spaceId,
    status: firstPlan.action === 'none' ? 'unchanged' : changed,
    agents: firstPlan.agents.map((agent, index) =>
      agentResult(agent, agents[index], agent.present ? 'unchanged' : 'created'),
    ),
    differences: firstPlan.differences,
  };
}

/** A result as `provision -o json` prints it. */
export function documentResultJson(result: DocumentResult): object {
  const { index: _, error, action, cron, differences, ...rest } = result;
  return {
    ...rest,
    cron: cron.map(cronResultJson),
    ...(action && { action }),
    ...(differences.length > 0 && { differences }),
    ...(error !== undefined && { error: toErrorObject(error) satisfies ErrorObject }),
  };
}

/** Counts documents by status. */
export function countDocuments(results: readonly DocumentResult[]): Record<DocumentStatus, number> {
  return countByStatus(results, { created: 0, reused: 0, unchanged: 0, planned: 0, failed: 0, skipped: 0 });
}
