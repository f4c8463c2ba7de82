import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { provisionSpace, setUpChatSource } from '../api/calls.ts';
import { backoffMs } from '../api/retry.ts';
import { CHAT_DEFAULTS } from '../contract/chat-fields.ts';
import { isJsonObject } from '../contract/json.ts';
import type { ListedAgent } from '../contract/resources.ts';
import { OutcomeUnknownError, PartnerctlError, RateLimitError, ServiceError } from '../errors.ts';
import { emitted } from '../platform/emitted.ts';
import { SPACE_TYPE, type SpaceFact } from '../state/space-record.ts';
import { pairAgents } from './agents.ts';
import { sourceDifferences, wantedChat, withoutIgnored } from './differences.ts';
import {
  inStep,
  lostPostError,
  missingIdsError,
  stopsProvisioning,
  unrecordedSpaceError,
  unusableResponse,
} from './failures.ts';
import { createJobs, hasUnsettledJobs } from './jobs.ts';
import { type ManifestDocument, sourceOf } from './manifest.ts';
import { agentsOf, installedFields, type SpacePlan } from './plan.ts';
import { observeAndPlan, type ProvisionDeps, withStatus } from './plan-manifests.ts';
import { Progress } from './progress.ts';

function isInstalled(progress: Progress): boolean {
  return progress.open('create_space').length + progress.open('install_agent').length === 0;
}

/**
 * Posts what is missing until it is there (spec §4.6): after a failure that may pass, it reads what is there now.
 * @throws PartnerctlError, after which the progress shows what was done
 */
async function installMissing(deps: ProvisionDeps, progress: Progress): Promise<void> {
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
async function setUpChats({ http, stop }: ProvisionDeps, progress: Progress): Promise<void> {
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

/** Which of the agents of a request was refused: the service names the field as `agents[1].template_id`. */
function refusedIndex(error: unknown): number {
  const details = error instanceof PartnerctlError && isJsonObject(error.info.details) ? error.info.details : {};
  const fields: readonly unknown[] = Array.isArray(details.fields) ? details.fields : [];
  const paths = fields.map((field) => (isJsonObject(field) ? String(field.path) : ''));
  const [index = '0'] = paths.flatMap((path) => /\bagents[[./](\d+)/.exec(path)?.[1] ?? []);
  return Number(index);
}

/** What all spaces of a run share. */
interface ApplyRun extends ProvisionDeps {
  /** Checks once that the state can be written. @throws LocalError if it cannot */
  readonly checkState: () => Promise<void>;
  /** Starts nothing more after a failure that every further space would have. */
  readonly stopAfter: (report: SpacePlan) => void;
  /** Counts a space of which only the jobs may be left. */
  readonly onApplied: () => void;
}

/** Provisions the space of a plan, its agents, and their chats. Failures are in its progress. */
async function applySpace(run: ApplyRun, progress: Progress): Promise<void> {
  const { document, steps } = progress.report();
  try {
    if (steps.some(({ status }) => status === 'planned')) await run.checkState();
    await installMissing(run, progress);
    await setUpChats(run, progress);
  } catch (error) {
    const missing = progress.open('install_agent');
    const key = (missing[refusedIndex(error)] ?? missing[0])?.key ?? 'space';
    progress.fail({ error, source: sourceOf(document, key) });
  }
}

/** Records the space and its agents. It is a failure if only the report knows then what was created. */
async function recordSpace({ log, facts, http }: ProvisionDeps, progress: Progress): Promise<void> {
  const plan = progress.report();
  const { space_id, document } = plan;
  if (space_id === null) return;
  const { external_space_id } = document.manifest;
  const earlier = facts.get(external_space_id);
  const current = agentsOf(plan).flatMap(({ wanted, agent_id, source_id }) => {
    const { template_id } = wanted;
    return agent_id === null || template_id === undefined
      ? []
      : [{ agent_id, name: wanted.name, template_id, source_id }];
  });
  const ids = new Set(current.map(({ agent_id }) => agent_id));
  const older = earlier?.space_id === space_id ? earlier.agents.filter(({ agent_id }) => !ids.has(agent_id)) : [];
  const fact: SpaceFact = { origin: http.baseUrl, external_space_id, space_id, agents: [...older, ...current] };
  if (earlier && JSON.stringify(fact) === JSON.stringify(earlier)) return;
  try {
    await log.append([log.newRecord(SPACE_TYPE, { ...fact })]);
  } catch (error) {
    // What existed before can be found again.
    const isNew = plan.steps.some(({ status }) => status === 'created');
    if (isNew) progress.fail({ error: unrecordedSpaceError(space_id, error), source: document.source });
  }
}

/** Carries out plans, and then creates the jobs of all of them. @param emit called for each, when it is finished */
async function applyBatch(
  run: ApplyRun,
  plans: readonly SpacePlan[],
  emit: (report: SpacePlan) => void,
): Promise<void> {
  const withJobs: Progress[] = [];
  const records: Promise<void>[] = [];
  const end = async (progress: Progress): Promise<void> => {
    await recordSpace(run, progress);
    const report = progress.report();
    if (report.failures.length === 0 && hasUnsettledJobs(report)) withJobs.push(progress);
    else emit(report);
  };
  const apply = async (plan: SpacePlan): Promise<void> => {
    const isUnstarted = plan.steps.every(({ status }) => status === 'skipped');
    if (plan.failures.length > 0 || isUnstarted) emit(plan);
    else if (run.stop.aborted) emit(withStatus(plan, 'skipped'));
    else {
      const progress = new Progress(plan);
      await applySpace(run, progress);
      run.stopAfter(progress.report());
      // Records share a write: the next space need not wait for the one of this.
      records.push(end(progress));
    }
    run.onApplied();
  };
  const limit = pLimit(run.concurrency);
  await Promise.all(plans.map((plan) => limit(() => apply(plan))));
  await Promise.all(records);
  await createJobs(withJobs, { engine: run.jobs, consent: run.createBeside, count: run.count }, run.stop);
  for (const progress of withJobs) emit(progress.report());
}

/**
 * Carries out plans: creates or reuses the spaces, installs missing agents, sets up chats, and then creates the jobs of
 * all. Yields what was done for each when nothing more is to be done; failures are in it. For a plan with a failure,
 * nothing is sent. Runs to the end even if nobody reads: a space without its jobs would be half done.
 * @param maxFailures after so many, no further space is started. There are never more
 */
export function applyPlans(
  { stop: interrupt, ...deps }: ProvisionDeps,
  plans: readonly SpacePlan[],
  maxFailures = Number.POSITIVE_INFINITY,
): AsyncGenerator<SpacePlan> {
  const stopper = new AbortController();
  const stop = AbortSignal.any([interrupt, stopper.signal]);
  // Node warns about more than ten listeners, and every wait of a document adds one.
  setMaxListeners(0, stop);
  const stopAfter = ({ failures }: SpacePlan): void => {
    const stopping = failures.find(({ error }) => stopsProvisioning(error));
    if (stopping) stopper.abort(stopping.error);
  };
  let check: Promise<void> | undefined;
  const checkState = (): Promise<void> => {
    check ??= deps.log.check();
    return check;
  };
  return emitted(async (emit) => {
    const count = deps.count('Applying', plans.length);
    // After Ctrl-C, those that were not started are skipped.
    const onApplied = () => (interrupt.aborted ? undefined : count());
    let failed = 0;
    const report = (plan: SpacePlan): void => {
      if (plan.failures.length > 0) failed += 1;
      stopAfter(plan);
      emit(plan);
    };
    let rest = plans;
    while (rest.length > 0 && failed < maxFailures) {
      // All of a batch may fail.
      const size = maxFailures - failed;
      await applyBatch({ ...deps, stop, checkState, stopAfter, onApplied }, rest.slice(0, size), report);
      rest = rest.slice(size);
    }
    for (const plan of rest) emit(withStatus(plan, 'skipped'));
  });
}
