import { type CronResult, cronResultJson } from '../cron/cron-result.ts';
import type { PartnerctlError } from '../errors.ts';
import { countByStatus } from '../output/batch-result.ts';
import { type ErrorObject, toErrorObject } from '../output/error-object.ts';
import { type Action, createSpaceAction, installAgentAction } from './actions.ts';
import type { Difference } from './differences.ts';
import type { ManifestDocument } from './manifest.ts';
import type { PlannedAgent, PresentAgent, ProvisionPlan, Unmanaged } from './provision-plan.ts';

/** `valid` documents were only checked. */
export type DocumentStatus = 'created' | 'reused' | 'unchanged' | 'valid' | 'failed' | 'skipped';

export interface AgentResult {
  readonly agent_id: string | null;
  readonly name: string;
  readonly template_id: string;
  readonly status: 'created' | 'unchanged' | 'valid' | 'failed' | 'skipped';
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
  /** What was created. */
  readonly actions: readonly Action[];
  readonly differences: readonly Difference[];
  /** The agents of the space that the manifest does not have. */
  readonly unmanaged: readonly Unmanaged[];
  readonly error?: unknown;
}

/** One agent of a plan. @param found the existing agent it was paired with */
function agentResult(
  { wanted: { name, template_id } }: Pick<PlannedAgent, 'wanted'>,
  found: PresentAgent | undefined,
  status: AgentResult['status'],
): AgentResult {
  return { agent_id: found?.agent_id ?? null, name, template_id, status, source_id: found?.source_id ?? null };
}

/** The result of a document for which nothing was done. */
export function initialDocumentResult(
  document: ManifestDocument,
  status: 'failed' | 'skipped' | 'valid',
): DocumentResult {
  const { index, source, manifest } = document;
  return {
    index,
    source,
    external_space_id: manifest.external_space_id,
    space_id: null,
    status,
    agents: manifest.agents.map((wanted) => agentResult({ wanted }, undefined, status)),
    cron: [],
    actions: [],
    differences: [],
    unmanaged: [],
  };
}

/** What was read of a space before its document failed. */
export interface KnownSpace {
  readonly spaceId: string | undefined;
  /** The plan before anything was sent; undefined if there was none yet. */
  readonly firstPlan: ProvisionPlan | undefined;
  /** The last plan. */
  readonly plan: ProvisionPlan | undefined;
  /** What the service accepted and does not list yet. */
  readonly accepted?: AppliedSpace | undefined;
}

/** What a document created before it failed. */
function creations({ manifest }: ManifestDocument, agents: readonly AgentResult[], isNewSpace: boolean): Action[] {
  const installed = manifest.agents.filter((_, index) => agents[index]?.status === 'created');
  return [...(isNewSpace ? [createSpaceAction(manifest)] : []), ...installed.map(installAgentAction)];
}

/** The result of a document that was not carried out, with the ids of what exists. */
export function unfinishedResult(
  document: ManifestDocument,
  { spaceId, firstPlan, plan, accepted }: KnownSpace,
  status: 'failed' | 'skipped',
): DocumentResult {
  const initial = initialDocumentResult(document, status);
  const space_id = spaceId ?? accepted?.spaceId ?? null;
  if (!plan) return { ...initial, space_id };
  const agents = plan.agents.map((agent, index) => {
    const existing = firstPlan && !firstPlan.agents[index]?.present ? 'created' : 'unchanged';
    const present = agent.present ?? accepted?.agents[index];
    return agentResult(agent, present, present ? existing : status);
  });
  const exists = accepted ? accepted.created !== false : plan.action !== 'create';
  const actions = creations(document, agents, firstPlan?.action === 'create' && exists);
  return { ...initial, space_id, agents, actions };
}

export interface AppliedSpace {
  readonly spaceId: string;
  /** The existing agents, one for each agent of the plan. */
  readonly agents: readonly (PresentAgent | undefined)[];
  /** False if the service says that the space existed before. */
  readonly created?: boolean | undefined;
  /** Whether the service chose another space than the known one, whose agents are not in it. */
  readonly isOther?: boolean;
  /** Why some agents have no id. Undefined if they all have one, or if the service has nothing that would tell. */
  readonly failure?: PartnerctlError | undefined;
  /** Whether the reason is that the list of agents, which can be read, does not show them. */
  readonly isUnlisted?: boolean;
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
  const missing = firstPlan.agents.filter((agent) => !agent.present);
  const isNew = (name: string) => missing.some(({ wanted }) => wanted.name === name);
  return {
    ...initialDocumentResult(document, 'skipped'),
    space_id: spaceId,
    status: firstPlan.action === 'none' ? 'unchanged' : changed,
    agents: firstPlan.agents.map((agent, index) =>
      agentResult(agent, agents[index], agent.present ? 'unchanged' : 'created'),
    ),
    actions: [
      ...(changed === 'created' ? [createSpaceAction(document.manifest)] : []),
      ...missing.map(({ wanted }) => installAgentAction(wanted)),
    ],
    // A new agent differs no longer from an older one that it might have been.
    differences: firstPlan.differences.filter((each) => each.resource !== 'agent' || !isNew(each.name)),
    unmanaged: firstPlan.unmanaged,
  };
}

/** The result of a document whose missing agents were installed in another space than the known one. */
export function otherSpaceResult(
  document: ManifestDocument,
  { spaceId, agents, created }: AppliedSpace,
  error: PartnerctlError,
): DocumentResult {
  const results = document.manifest.agents.map((wanted, index) =>
    agentResult({ wanted }, agents[index], agents[index] ? 'created' : 'failed'),
  );
  const actions = creations(document, results, created !== false);
  return { ...initialDocumentResult(document, 'failed'), space_id: spaceId, agents: results, actions, error };
}

/** A result as `provision -o json` prints it. */
export function documentResultJson(result: DocumentResult): object {
  const { index: _, error, actions: _actions, cron, differences, unmanaged: _unmanaged, ...rest } = result;
  const isChecked = result.status === 'valid';
  return {
    ...rest,
    cron: cron.map((job) => ({ ...cronResultJson(job), ...(isChecked && { status: 'valid' }) })),
    ...(differences.length > 0 && { differences }),
    ...(error !== undefined && { error: toErrorObject(error) satisfies ErrorObject }),
  };
}

/** Counts documents by status; `valid` only where documents were checked. */
export function countDocuments(results: readonly DocumentResult[]): Readonly<Record<string, number>> {
  const none = { created: 0, reused: 0, unchanged: 0, failed: 0, skipped: 0, valid: 0 };
  const { valid, ...counts } = countByStatus(results, none);
  return valid > 0 ? { ...counts, valid } : counts;
}
