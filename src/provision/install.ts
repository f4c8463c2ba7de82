import { provisionSpace } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { backoffMs } from '../api/retry.ts';
import type { ListedAgent } from '../contract/agents.ts';
import { OutcomeUnknownError, RateLimitError, ServiceError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { lostPostError, missingIdsError, unusableResponse } from './failures.ts';
import { type InstallStep, installedFields, pairAgents, plannedSteps, type SpacePlan } from './plan.ts';
import { type PlanDeps, type ProvisionOptions, planDocument } from './plan-manifests.ts';

export interface InstallDeps extends PlanDeps {
  readonly http: Http;
  readonly clock: Clock;
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
    try {
      await post(deps, plan);
    } catch (error) {
      const mayBeDone = error instanceof OutcomeUnknownError;
      const waitMs = waitBeforeRepeat(deps, error, attempt);
      if (waitMs === undefined) throw mayBeDone ? lostPostError(error) : error;
      await updatePlan(deps, plan, options, waitMs);
      if (!isInstalled(plan) && unusableResponse(error)) throw lostPostError(error);
    }
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
    throw lostPostError(error);
  }
  for (const [index, step] of now.steps.entries()) {
    if (step.status === 'unchanged' && plan.steps[index]?.status !== 'unchanged') step.status = 'created';
  }
  Object.assign(plan, now);
  if (plan.error !== undefined) throw plan.error;
}

/** Creates the space if it is missing, and installs the missing agents, in one POST. @throws PartnerctlError */
async function post({ http, observer }: InstallDeps, plan: SpacePlan): Promise<void> {
  const { manifest } = plan.document;
  const missing = plannedSteps(plan, 'install_agent');
  const body = { ...manifest, agents: missing.map(({ agent }) => installedFields(agent.wanted)) };
  const response = await provisionSpace(http, body, { timeoutMs: http.remainingMs() });
  const { space_id, created } = response;
  if (plan.space_id !== null && plan.space_id !== space_id) {
    const id = JSON.stringify(manifest.external_space_id);
    throw new ServiceError(`The service provisioned ${id} as ${space_id}; until now, it was ${plan.space_id}.`);
  }
  plan.space_id = space_id;
  for (const step of plannedSteps(plan, 'create_space')) {
    Object.assign(step, { id: space_id, status: created === false ? 'unchanged' : 'created' });
  }
  for (const step of missing) step.status = 'created';
  setIds(plan, missing, response.agents);
  const isUnknown = ({ id }: InstallStep): boolean => id === null;
  if (missing.some(isUnknown)) setIds(plan, missing, (await observer.listAgents(space_id)) ?? []);
  const unknown = missing.filter(isUnknown).map(({ name }) => name);
  if (unknown.length > 0) throw missingIdsError(response, unknown);
}

/** Finds the agents whose ids are unknown among those of the space that belong to no other. */
function setIds(plan: SpacePlan, missing: readonly InstallStep[], present: readonly ListedAgent[]): void {
  const known = new Set(plan.agents.map(({ agent_id }) => agent_id));
  const unknown = missing.filter(({ id }) => id === null);
  const { pairs } = pairAgents(
    unknown.map(({ agent }) => agent.wanted),
    present.filter(({ agent_id }) => !known.has(agent_id)),
  );
  for (const [index, step] of unknown.entries()) {
    const found = pairs[index]?.present;
    if (!found) continue;
    step.id = found.agent_id;
    Object.assign(step.agent, { agent_id: found.agent_id, source_id: found.source_id ?? null });
  }
}
