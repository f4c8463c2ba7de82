import { provisionSpace, setUpChatSource } from '../api/calls.ts';
import { backoffMs } from '../api/retry.ts';
import { CHAT_DEFAULTS } from '../chat/chat-fields.ts';
import type { ListedAgent } from '../contract/resources.ts';
import { OutcomeUnknownError, RateLimitError, ServiceError } from '../errors.ts';
import { sourceDifferences, wantedChat } from './differences.ts';
import { inStep, lostPostError, missingIdsError, unusableResponse } from './failures.ts';
import { withoutIgnored } from './ignore.ts';
import { type InstallStep, installedFields, pairAgents, plannedSteps, type SpacePlan } from './plan.ts';
import { type ProvisionDeps, planDocument } from './plan-manifests.ts';

function isInstalled(plan: SpacePlan): boolean {
  return plannedSteps(plan, 'create_space').length + plannedSteps(plan, 'install_agent').length === 0;
}

/**
 * Posts what is missing until it is there (spec §4.6): after a failure that may pass, it reads what is there now.
 * @throws PartnerctlError, after which the plan shows what was done
 */
export async function installMissing(deps: ProvisionDeps, plan: SpacePlan): Promise<void> {
  for (let attempt = 1; !isInstalled(plan); attempt += 1) {
    try {
      await post(deps, plan);
    } catch (error) {
      const waitMs = waitBeforeRepeat(deps, error, attempt);
      if (waitMs === undefined) throw error instanceof OutcomeUnknownError ? lostPostError(error) : error;
      await updatePlan(deps, plan, waitMs);
      if (!isInstalled(plan) && unusableResponse(error)) throw lostPostError(error);
    }
  }
}

function waitBeforeRepeat({ retries, random, clock, http }: ProvisionDeps, error: unknown, attempt: number) {
  const mayPass = error instanceof OutcomeUnknownError || error instanceof RateLimitError;
  if (!mayPass || attempt > retries) return undefined;
  const retryAt = Date.parse(error.info.retryAt ?? '');
  const floor = Number.isNaN(retryAt) ? 0 : Math.max(0, retryAt - clock.now());
  const waitMs = floor + backoffMs(attempt, random());
  return waitMs > http.remainingMs() ? undefined : waitMs;
}

/** Updates the plan to what is there now: whoever created what was missing before, it is `created`. */
async function updatePlan(deps: ProvisionDeps, plan: SpacePlan, waitMs: number): Promise<void> {
  let now: SpacePlan;
  try {
    await deps.clock.sleep(waitMs, deps.stop);
    deps.observer.expire();
    now = await planDocument(deps, plan.document);
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
async function post({ http, observer }: ProvisionDeps, plan: SpacePlan): Promise<void> {
  const { ignore: _, ...manifest } = plan.document.manifest;
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
  const unknown = (): string[] => missing.flatMap(({ id, name }) => (id === null ? [name] : []));
  if (unknown().length > 0) setIds(plan, missing, (await observer.listAgents(space_id)) ?? []);
  if (unknown().length > 0) throw missingIdsError(response, unknown());
}

/** Finds the agents whose ids are unknown among those of the space that belong to no other. */
function setIds(plan: SpacePlan, missing: readonly InstallStep[], present: readonly ListedAgent[]): void {
  const known = new Set(plan.agents.map(({ agent_id }) => agent_id));
  const free = present.filter(({ agent_id }) => !known.has(agent_id));
  const unknown = missing.filter(({ id }) => id === null);
  const wanted = unknown.map(({ agent }) => agent.wanted);
  for (const [index, { present: found }] of pairAgents(wanted, free).pairs.entries()) {
    const step = unknown[index];
    if (!found || !step) continue;
    step.id = found.agent_id;
    Object.assign(step.agent, { agent_id: found.agent_id, source_id: found.source_id ?? null });
  }
}

/** Sets up the chats that are missing (spec §4.2): the call is safe to repeat. @throws PartnerctlError */
export async function setUpChats({ http, stop }: ProvisionDeps, plan: SpacePlan): Promise<void> {
  for (const step of plannedSteps(plan, 'setup_chat')) {
    const { name, agent } = step;
    stop.throwIfAborted();
    try {
      const asked = wantedChat(agent.wanted) ?? {};
      const [space, id] = [plan.space_id ?? '', agent.agent_id ?? ''];
      const source = await setUpChatSource(http, space, id, { ...CHAT_DEFAULTS, ...asked });
      const isNewAgent = plan.steps.some(
        (each) => each.op === 'install_agent' && each.agent === agent && each.status === 'created',
      );
      step.id = source.source_id;
      step.status = (source.created ?? isNewAgent) ? 'created' : 'unchanged';
      agent.source_id = source.source_id;
      const found = withoutIgnored(plan.document.manifest.ignore, sourceDifferences(name, source, asked));
      plan.differences = [...plan.differences, ...found];
    } catch (error) {
      step.status = 'failed';
      throw inStep(`The API chat of the agent ${JSON.stringify(name)} is not set up`, error);
    }
  }
}
