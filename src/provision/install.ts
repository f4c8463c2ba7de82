import { provisionSpace } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { backoffMs } from '../api/retry.ts';
import type { ListedAgent } from '../contract/agents.ts';
import { InterruptedError, OutcomeUnknownError, PartnerctlError, RateLimitError } from '../errors.ts';
import { missingIdsError, otherSpaceError, postError, readAfterLostPostError, unusableResponse } from './failures.ts';
import { installedFields, type PlannedAgent, pairAgents, plannedSteps, type SpacePlan } from './plan.ts';
import { type PlanDeps, type ProvisionOptions, planDocument } from './plan-manifests.ts';

export interface InstallDeps extends PlanDeps {
  readonly http: Http;
  readonly random: () => number;
  /** How often a POST is repeated after a failure that may pass. */
  readonly retries: number;
  /** Aborts on the first Ctrl-C. */
  readonly interrupt: AbortSignal;
}

function isInstalled(plan: SpacePlan): boolean {
  return plannedSteps(plan, 'create_space').length + plannedSteps(plan, 'install_agent').length === 0;
}

/**
 * Posts what is missing until it is there (spec §4.6): after a failure that may pass, it reads what is there now.
 * @throws PartnerctlError, after which the plan shows what was done
 */
export async function installMissing(
  deps: InstallDeps,
  plan: SpacePlan,
  options: Pick<ProvisionOptions, 'installRenamed'>,
): Promise<void> {
  for (let attempt = 1; !isInstalled(plan); attempt += 1) {
    let failure: unknown;
    try {
      return await post(deps, plan);
    } catch (error) {
      failure = error;
    }
    const waitMs = waitBeforeRepeat(deps, failure, attempt);
    if (waitMs !== undefined) {
      await updatePlan(deps, plan, options, waitMs);
      if (isInstalled(plan) || !unusableResponse(failure)) continue;
    }
    const missing = plannedSteps(plan, 'install_agent').map(({ name }) => name);
    throw postError(failure, missing.length < plan.agents.length ? missing : []);
  }
}

/** How long to wait before a POST is repeated; undefined if it is not. */
function waitBeforeRepeat({ retries, random, clock, http }: InstallDeps, error: unknown, attempt: number) {
  const mayPass = error instanceof OutcomeUnknownError || error instanceof RateLimitError;
  if (!mayPass || attempt > retries) return undefined;
  const retryAt = Date.parse(error.info.retryAt ?? '');
  const floor = Number.isNaN(retryAt) ? 0 : Math.max(0, retryAt - clock.now());
  const waitMs = floor + backoffMs(attempt, random());
  return waitMs > http.remainingMs() ? undefined : waitMs;
}

/** Updates the plan to what is there now: whoever created what was missing before, it is `created`. */
async function updatePlan(
  deps: InstallDeps,
  plan: SpacePlan,
  options: Pick<ProvisionOptions, 'installRenamed'>,
  waitMs: number,
): Promise<void> {
  let now: SpacePlan;
  try {
    await deps.clock.sleep(waitMs, deps.interrupt);
    deps.observer.expire();
    now = await planDocument(deps, plan.document, options);
  } catch (error) {
    throw readAfterLostPostError(error);
  }
  const { space_id, differences, unmanaged } = now;
  Object.assign(plan, { space_id, differences, unmanaged });
  for (const [index, { agent_id, source_id }] of now.agents.entries()) {
    const agent = plan.agents[index];
    if (agent) Object.assign(agent, { agent_id, source_id });
  }
  for (const [index, { status, id }] of now.steps.entries()) {
    const step = plan.steps[index];
    if (step?.status === 'planned' && status === 'unchanged') Object.assign(step, { status: 'created', id });
  }
  if (now.error !== undefined) throw now.error;
}

/** Creates the space if it is missing, and installs the missing agents, in one POST. @throws PartnerctlError */
async function post({ http, observer }: InstallDeps, plan: SpacePlan): Promise<void> {
  const { manifest } = plan.document;
  const missing = plannedSteps(plan, 'install_agent');
  const body = { ...manifest, agents: missing.map(({ agent }) => installedFields(agent.wanted)) };
  const response = await provisionSpace(http, body, { timeoutMs: http.remainingMs() });
  const { space_id, created } = response;
  if (plan.space_id !== null && plan.space_id !== space_id) {
    throw otherSpaceError(manifest.external_space_id, plan.space_id, space_id);
  }
  plan.space_id = space_id;
  for (const step of plannedSteps(plan, 'create_space')) {
    Object.assign(step, { id: space_id, status: created === false ? 'unchanged' : 'created' });
  }
  for (const step of missing) step.status = 'created';
  const agents = missing.map(({ agent }) => agent);
  setIds(plan, agents, response.agents);
  let reason: PartnerctlError | undefined;
  if (agents.some(isUnknown)) {
    try {
      setIds(plan, agents, (await observer.listAgents(space_id)) ?? []);
    } catch (error) {
      if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
      reason = error;
    }
  }
  for (const step of missing) step.id = step.agent.agent_id;
  const unknown = agents.filter(isUnknown).map(({ wanted }) => wanted.name);
  if (unknown.length > 0) throw missingIdsError(response, unknown, reason);
}

function isUnknown({ agent_id }: PlannedAgent): boolean {
  return agent_id === null;
}

/** Finds the agents whose ids are unknown among those of the space that belong to no other. */
function setIds(plan: SpacePlan, agents: readonly PlannedAgent[], present: readonly ListedAgent[]): void {
  const known = new Set(plan.agents.map(({ agent_id }) => agent_id));
  const unknown = agents.filter(isUnknown);
  const { pairs } = pairAgents(
    unknown.map(({ wanted }) => wanted),
    present.filter(({ agent_id }) => !known.has(agent_id)),
  );
  for (const agent of unknown) {
    const found = pairs.find(({ wanted }) => wanted === agent.wanted)?.present;
    if (found) Object.assign(agent, { agent_id: found.agent_id, source_id: found.source_id ?? null });
  }
}
