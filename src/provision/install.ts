import { provisionSpace } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { backoffMs } from '../api/retry.ts';
import type { ListedAgent } from '../contract/agents.ts';
import type { ProvisionResponse } from '../contract/provisioning.ts';
import { describeFix } from '../contract/unknown-shape.ts';
import { InterruptedError, OutcomeUnknownError, PartnerctlError, RateLimitError, ShapeError } from '../errors.ts';
import { hasName } from './differences.ts';
import {
  lostPostError,
  missingIdsError,
  namingAgents,
  otherSpaceError,
  readAfterLostPostError,
  unusableResponse,
} from './failures.ts';
import type { ManifestAgent } from './manifest.ts';
import type { Observer } from './observe.ts';
import { failRest, installedFields, plannedSteps, type SpacePlan, type Step, skipRest, withSteps } from './plan.ts';
import { look, type PlanDeps, type ProvisionOptions } from './plan-manifests.ts';

export interface InstallDeps extends PlanDeps {
  readonly http: Http;
  readonly random: () => number;
  /** How often a POST is repeated after a failure that may pass. */
  readonly retries: number;
  /** Aborts on the first Ctrl-C. */
  readonly interrupt: AbortSignal;
}

/** What was missing at first and is there now, whoever created it, is `created`. */
function sinceFirst(first: SpacePlan, plan: SpacePlan): SpacePlan {
  const steps = plan.steps.map((step, index): Step => {
    const isNew = first.steps[index]?.status === 'planned' && step.status === 'unchanged' && step.op !== 'create_job';
    return isNew ? { ...step, status: 'created' } : step;
  });
  return { ...plan, steps };
}

/**
 * Pairs the agents of a request with those that it installed: by name, or, where the service named it otherwise, the only one
 * of its template.
 */
function matchInstalled(wanted: readonly ManifestAgent[], installed: readonly ListedAgent[]) {
  const named = wanted.map((agent) =>
    installed.find(
      (each) => hasName(each, agent.name) && (each.template_id ?? agent.template_id) === agent.template_id,
    ),
  );
  const rest = installed.filter((agent) => !named.includes(agent));
  return wanted.map((agent, index) => {
    const rivals = wanted.filter((other, at) => !named[at] && other.template_id === agent.template_id);
    const candidates = rest.filter(({ template_id }) => template_id === agent.template_id);
    return named[index] ?? (rivals.length === 1 && candidates.length === 1 ? candidates[0] : undefined);
  });
}

/** Posts what is missing until it is there (spec §4.6): after a failure that may pass, it looks what is there now. */
export async function installMissing(
  deps: InstallDeps,
  first: SpacePlan,
  options: Pick<ProvisionOptions, 'installRenamed'>,
): Promise<SpacePlan> {
  let plan = first;
  for (let attempt = 1; plannedSteps(plan, 'create_space', 'install_agent').length > 0; attempt += 1) {
    let failure: unknown;
    try {
      return await post(deps, plan);
    } catch (error) {
      failure = error;
    }
    const waitMs = waitBeforeRepeat(deps, failure, attempt);
    if (waitMs === undefined) return failRest(plan, explain(plan, lostPostError(failure)));
    try {
      await deps.clock.sleep(waitMs, deps.interrupt);
      deps.observer.expire();
      plan = sinceFirst(first, await look(deps, first.document, options));
    } catch (error) {
      return failRest(plan, readAfterLostPostError(error));
    }
    if (plan.error !== undefined) return plan;
    const isMissing = plannedSteps(plan, 'create_space', 'install_agent').length > 0;
    if (isMissing && unusableResponse(failure)) return failRest(plan, explain(plan, lostPostError(failure)));
  }
  return plan;
}

function explain(plan: SpacePlan, error: unknown): unknown {
  const missing = plannedSteps(plan, 'install_agent').map(({ name }) => name);
  return namingAgents(error, missing, plan.agents.length);
}

/** How long to wait before a POST is repeated; undefined if it is not. */
function waitBeforeRepeat(
  { retries, random, clock, http }: InstallDeps,
  error: unknown,
  attempt: number,
): number | undefined {
  const mayPass = error instanceof OutcomeUnknownError || error instanceof RateLimitError;
  if (!mayPass || attempt > retries) return undefined;
  const retryAt = Date.parse(error.info.retryAt ?? '');
  const floor = Number.isNaN(retryAt) ? 0 : Math.max(0, retryAt - clock.now());
  const waitMs = floor + backoffMs(attempt, random());
  return waitMs > http.remainingMs() ? undefined : waitMs;
}

/** Creates the space if it is missing, and installs the missing agents, in one POST. @throws PartnerctlError */
async function post(deps: InstallDeps, plan: SpacePlan): Promise<SpacePlan> {
  const { http } = deps;
  const { manifest } = plan.document;
  const missing = plannedSteps(plan, 'install_agent').flatMap(({ agent }) => manifest.agents[agent ?? -1] ?? []);
  const body = { ...manifest, agents: missing.map(installedFields) };
  const response = await provisionSpace(http, body, { timeoutMs: http.remainingMs() });
  const { space_id, created } = response;
  if (plan.space_id !== null && plan.space_id !== space_id) {
    throw otherSpaceError(manifest.external_space_id, plan.space_id, space_id);
  }
  const known = new Set(plan.agents.map(({ agent_id }) => agent_id));
  const { agents: installed, error } = await findInstalled(deps.observer, response, missing, known);
  const found = new Map(missing.map((agent, index) => [agent, installed[index]]));
  const agents = plan.agents.map((state, index) => {
    const wanted = manifest.agents[index];
    const agent = wanted && found.get(wanted);
    return agent ? { agent_id: agent.agent_id, source_id: agent.source_id ?? null } : state;
  });
  const posted = withSteps(plan, (step) => {
    if (step.status !== 'planned') return step;
    if (step.op === 'create_space')
      return { ...step, id: space_id, status: created === false ? 'unchanged' : 'created' };
    if (step.op !== 'install_agent') return step;
    return { ...step, id: agents[step.agent ?? -1]?.agent_id ?? null, status: 'created' };
  });
  const applied = { ...posted, space_id, agents };
  return error ? skipRest(applied, error) : applied;
}

/** Finds the agents that a POST installed: in its response or, if that does not name them all, in the list. */
async function findInstalled(
  observer: Observer,
  response: ProvisionResponse,
  missing: readonly ManifestAgent[],
  known: ReadonlySet<string | null>,
): Promise<{ agents: readonly (ListedAgent | undefined)[]; error?: PartnerctlError }> {
  const { space_id, unreadable } = response;
  const find = (agents: readonly ListedAgent[]) =>
    matchInstalled(
      missing,
      agents.filter(({ agent_id }) => !known.has(agent_id)),
    );
  const named = find(response.agents);
  if (named.every((agent) => agent)) return { agents: named };
  let listed: readonly ListedAgent[] | undefined;
  let reason: PartnerctlError | undefined;
  try {
    listed = await observer.listAgents(space_id);
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    // The space is provisioned even if this read fails.
    if (!(error instanceof InterruptedError)) reason = error;
  }
  const ids = new Set(listed?.map(({ agent_id }) => agent_id));
  const agents = find([...(listed ?? []), ...response.agents.filter(({ agent_id }) => !ids.has(agent_id))]);
  const lacking = missing.filter((_, index) => !agents[index]).map(({ name }) => name);
  if (listed) reason = new ShapeError(`Neither the response nor the list of agents of ${space_id} has them.`);
  if (unreadable && !listed) {
    const { message, seen, fix } = unreadable;
    reason = new ShapeError(message, { why: `The response lists ${seen}.`, hint: fix && describeFix(fix) });
  }
  return lacking.length > 0 && reason ? { agents, error: missingIdsError(space_id, lacking, reason) } : { agents };
}
