import { provisionSpace, setUpChatSource } from '../api/calls.ts';
import { backoffMs } from '../api/retry.ts';
import { CHAT_DEFAULTS } from '../contract/chat-fields.ts';
import type { ListedAgent } from '../contract/resources.ts';
import { OutcomeUnknownError, RateLimitError, ServiceError } from '../errors.ts';
import { pairAgents } from './agents.ts';
import { sourceDifferences, wantedChat } from './differences.ts';
import { inStep, lostPostError, missingIdsError, unusableResponse } from './failures.ts';
import { withoutIgnored } from './ignore.ts';
import { type ManifestDocument, sourceOf } from './manifest.ts';
import { agentsOf, installedFields, type SpacePlan } from './plan.ts';
import { observeAndPlan, type ProvisionDeps } from './plan-manifests.ts';
import type { Progress } from './progress.ts';

function isInstalled(progress: Progress): boolean {
  return progress.open('create_space').length + progress.open('install_agent').length === 0;
}

/**
 * Posts what is missing until it is there (spec §4.6): after a failure that may pass, it reads what is there now.
 * @throws PartnerctlError, after which the progress shows what was done
 */
export async function installMissing(deps: ProvisionDeps, progress: Progress): Promise<void> {
  for (let attempt = 1; !isInstalled(progress); attempt += 1) {
    try {
      await post(deps, progress);
    } catch (error) {
      const waitMs = waitBeforeRepeat(deps, error, attempt);
      if (waitMs === undefined) throw error instanceof OutcomeUnknownError ? lostPostError(error) : error;
      const now = await planAgain(deps, progress.report().document, waitMs);
      if (now.failures[0]) throw now.failures[0].error;
      progress.learn(now);
      if (!isInstalled(progress) && unusableResponse(error)) throw lostPostError(error);
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

/** Plans what is missing now. */
async function planAgain(deps: ProvisionDeps, document: ManifestDocument, waitMs: number): Promise<SpacePlan> {
  try {
    await deps.clock.sleep(waitMs, deps.stop);
    deps.observer.expire();
    return await observeAndPlan(deps, document);
  } catch (error) {
    throw lostPostError(error);
  }
}

/** Creates the space if it is missing, and installs the missing agents, in one POST. @throws PartnerctlError */
async function post({ http, observer }: ProvisionDeps, progress: Progress): Promise<void> {
  const { document, space_id: known } = progress.report();
  const { ignore: _, ...manifest } = document.manifest;
  const missing = progress.open('install_agent');
  const body = { ...manifest, agents: missing.map(({ agent }) => installedFields(agent.wanted)) };
  const response = await provisionSpace(http, body, { timeoutMs: http.remainingMs() });
  const { space_id, created } = response;
  if (known !== null && known !== space_id) {
    const id = JSON.stringify(manifest.external_space_id);
    throw new ServiceError(`The service provisioned ${id} as ${space_id}; until now, it was ${known}.`);
  }
  for (const step of progress.open('create_space')) {
    progress.settle(step, { id: space_id, status: created === false ? 'unchanged' : 'created' });
  }
  for (const step of missing) progress.settle(step, { id: null, status: 'created' });
  setIds(progress, response.agents);
  if (nameless(progress).length > 0) setIds(progress, (await observer.listAgents(space_id)) ?? []);
  const names = nameless(progress).map(({ name }) => name);
  if (names.length > 0) throw missingIdsError(response, names);
}

/** The agents that were installed, and whose ids are not known yet. */
function nameless(progress: Progress) {
  const installs = progress.report().steps.filter((step) => step.op === 'install_agent');
  return installs.filter(({ id }) => id === null);
}

/** Finds the agents whose ids are unknown among those of the space that belong to no other. */
function setIds(progress: Progress, present: readonly ListedAgent[]): void {
  const plan = progress.report();
  const known = new Set(agentsOf(plan).map(({ agent_id }) => agent_id));
  const free = present.filter(({ agent_id }) => !known.has(agent_id));
  const unknown = nameless(progress);
  const manifest = { ...plan.document.manifest, agents: unknown.map(({ agent }) => agent.wanted) };
  for (const [index, { present: found }] of pairAgents(manifest, free).pairs.entries()) {
    const step = unknown[index];
    if (!found || !step) continue;
    progress.settle(step, { id: found.agent_id, status: 'created', source_id: found.source_id ?? null });
  }
}

/** Sets up the chats that are missing (spec §4.2): the call is safe to repeat. A failure ends it. */
export async function setUpChats({ http, stop }: ProvisionDeps, progress: Progress): Promise<void> {
  for (const step of progress.open('setup_chat')) {
    const { name, agent } = step;
    const { space_id, document, steps } = progress.report();
    try {
      stop.throwIfAborted();
      const asked = wantedChat(agent.wanted) ?? {};
      const source = await setUpChatSource(http, space_id ?? '', agent.agent_id ?? '', { ...CHAT_DEFAULTS, ...asked });
      const isNewAgent = steps.some(({ key, status }) => key === agent.key && status === 'created');
      const status = (source.created ?? isNewAgent) ? 'created' : 'unchanged';
      progress.settle(step, { id: source.source_id, status });
      progress.addDifferences(withoutIgnored(document.manifest.ignore, sourceDifferences(name, source, asked)));
    } catch (error) {
      const isStopped = stop.aborted && error === stop.reason;
      if (!isStopped) progress.settle(step, { id: null, status: 'failed' });
      const what = `The API chat of the agent ${JSON.stringify(name)} is not set up`;
      progress.fail({ error: inStep(what, error), source: sourceOf(document, step.key) });
      return;
    }
  }
}
