import { backoffMs } from '../api/retry.ts';
import type { JsonObject } from '../contract/json.ts';
import { NotFoundError, type OutcomeUnknownError, PartnerctlError, RateLimitError, ServiceError } from '../errors.ts';
import type { CronDeps } from './create-cron-jobs.ts';
import { type ProvisionHistory, withHistory } from './history.ts';
import type { ManifestDocument } from './manifest.ts';
import { type PresentSpace, type ProvisionPlan, planProvision } from './plan.ts';
import { type PostDeps, postOnce, type SpaceState, waitForOthers } from './post-once.ts';
import {
  ambiguousError,
  blockedError,
  finalError,
  outOfTime,
  unreadableError,
  unrecordedError,
  unusableResponse,
} from './provision-errors.ts';
import { fetchRemoteState, findSpaces, RemoteStateUnavailable } from './remote-state.ts';
import { appliedResult, type DocumentResult } from './result.ts';
import { findSuspects, lacksRecorded, releaseAll, SettleWindow } from './settle.ts';
import { agentKeys, spaceKey } from './space-records.ts';

export interface ProvisionOptions {
  /** How long a POST of unknown outcome may still be carried out, in milliseconds. */
  readonly settleMs: number;
  /** Whether to post again although an earlier run may have installed the agents. */
  readonly retryUnknown: boolean;
}

/** The spaces of a run that the service lists. */
export interface ListedSpaces {
  /** By external id. */
  readonly spaces: ReadonlyMap<string, JsonObject>;
  /** The id of the last record of each space, by key, before the list was read. */
  readonly lastRecords: ReadonlyMap<string, string | undefined>;
}

export interface ProvisionDeps extends CronDeps, PostDeps, ProvisionOptions {
  readonly random: () => number;
  readonly retries: number;
  /** Undefined if the token may not list the spaces. */
  readonly listed: ListedSpaces | undefined;
  readonly history: ProvisionHistory;
  /** Called with the reason when the remote state turns out to be unavailable. */
  readonly onUnavailable: (reason: RemoteStateUnavailable) => Promise<void>;
}

const MAX_BACKOFF_MS = 4_000;
/** How many times a read is repeated after its own retries failed. */
const MAX_FAILED_READS = 2;

/** What the attempts to apply one document share. */
interface Run {
  readonly deps: ProvisionDeps;
  readonly document: ManifestDocument;
  readonly key: string;
  /** Whether the token may list the spaces and agents. */
  canRead: boolean;
  /** The space, once it was listed. */
  space?: JsonObject | undefined;
  isFirstRead: boolean;
  /** The plan before anything was sent. */
  firstPlan?: ProvisionPlan;
  /** The ids of the records that this run made. */
  readonly ownRecords: Set<string>;
  readonly window: SettleWindow;
  /** The failure of the last POST that may have been carried out. */
  lostPost?: OutcomeUnknownError | undefined;
  /** The failure of the last lost POST that turned out not to have been carried out. */
  settledPost?: OutcomeUnknownError;
  /** The failure of the last POST that was not carried out. */
  failedPost?: unknown;
  /** How many POSTs turned out not to have been carried out. */
  settledPosts: number;
  /** How many other attempts failed. */
  failures: number;
  failedReads: number;
}

type Step = { readonly result: DocumentResult } | { readonly waitMs: number; readonly why?: string };

async function readSpace(run: Run, { objects }: SpaceState): Promise<PresentSpace | undefined> {
  const { deps, document, key, isFirstRead } = run;
  const { http, history, listed } = deps;
  const { manifest } = document;
  run.isFirstRead = false;
  // A list that was read before another process provisioned the space does not show it.
  const isCurrent = isFirstRead && objects.at(-1)?.id === listed?.lastRecords.get(key);
  const spaces = (isCurrent && listed?.spaces) || (run.space ? undefined : await findSpaces(http, [document], true));
  run.space ??= spaces?.get(manifest.external_space_id);
  return run.space && withHistory(await fetchRemoteState(http, run.space), history.recall(manifest));
}

/** The result of a space in which everything exists. Settles the reservations whose agents are all among them. */
async function finish(run: Run, { open }: SpaceState, plan: ProvisionPlan, spaceId: string): Promise<DocumentResult> {
  const { deps, document } = run;
  const agents = plan.agents.map((agent) => agent.present);
  const result = appliedResult(document, run.firstPlan ?? plan, { spaceId, agents });
  if (!run.canRead) return result;
  const found = { manifest: document.manifest, spaceId, agents: result.agents };
  const existing = new Set(result.agents.flatMap(({ name, template_id }) => agentKeys(name, template_id)));
  for (const { reservation } of open) {
    if (reservation.snapshot.agents.every(({ key }) => existing.has(key)))
      await deps.history.record(found, reservation);
  }
  await deps.history.record(found);
  return result;
}

/**
 * Waits until nothing more can be expected of earlier POSTs and old lists, now that a look did not show all agents.
 * @returns how many milliseconds to wait before the next look; 0 once it is recorded that what is missing is not there
 * @throws OutcomeUnknownError if only a person can tell; the failure of this run's own POST if it was not carried out
 */
async function settle(run: Run, { open }: SpaceState, plan: ProvisionPlan, present: PresentSpace | undefined) {
  const { once, history, retryUnknown } = run.deps;
  const { manifest } = run.document;
  const unsettled = open.filter(({ reservation }) => !retryUnknown || run.ownRecords.has(reservation.id));
  const [first] = unsettled;
  if (first && !run.canRead) throw blockedError(first, run.lostPost);
  const lines = history.unreadableLines(manifest);
  const decisive = lines.find(({ kind }) => kind === 'newer' || !(run.canRead || retryUnknown));
  if (decisive) throw unreadableError(decisive, history.path, manifest.external_space_id);
  const missing = unsettled.map(({ reservation }) => reservation.id);
  if (!retryUnknown) missing.push(...lines.map(({ digest }) => digest));
  const missingAgents = plan.agents.filter((agent) => !agent.present);
  if (run.canRead && lacksRecorded(missingAgents, history.recallRecent(manifest))) missing.push('recorded');
  const waitMs = run.window.nextLookMs(missing);
  if (waitMs > 0) return waitMs;
  const suspects = findSuspects(unsettled, plan, present, retryUnknown ? undefined : history.recall(manifest));
  if (suspects.length > 0) throw ambiguousError(suspects);
  await releaseAll({ key: run.key, open, lines }, once, retryUnknown ? 'retry_unknown' : 'not_found');
  const { lostPost } = run;
  if (!lostPost) return 0;
  run.lostPost = undefined;
  run.settledPost = lostPost;
  throw lostPost;
}

/** Sends one POST, and returns its result; undefined if another look must follow. */
async function post(
  run: Run,
  state: SpaceState,
  plan: ProvisionPlan,
  present: PresentSpace | undefined,
): Promise<DocumentResult | undefined> {
  const { deps, document, key, ownRecords } = run;
  run.firstPlan ??= plan;
  const before = run.canRead ? new Set(present?.agents.map(({ agent_id }) => agent_id)) : null;
  const task = { document, key, plan, lastRecord: state.objects.at(-1), before, ownRecords };
  const outcome = await postOnce(deps, task).catch((error: unknown) => {
    run.failedPost = error;
    throw error;
  });
  if (outcome.kind === 'lost') run.lostPost = outcome.error;
  if (outcome.kind !== 'applied') return undefined;
  const result = appliedResult(document, run.firstPlan, outcome.applied);
  if (outcome.unrecorded === undefined) return result;
  return { ...result, status: 'failed', error: unrecordedError(outcome.applied.spaceId, outcome.unrecorded) };
}

/** Reads the remote state, or else what is recorded, and sends one POST if something is missing. */
async function attempt(run: Run): Promise<Step> {
  const { deps, document } = run;
  const { manifest } = document;
  const state = await waitForOthers(deps, document, run.key, run.ownRecords);
  const present = run.canRead ? await readSpace(run, state) : deps.history.recall(manifest);
  const plan = planProvision(manifest, present);
  if (present && plan.action === 'none') return { result: await finish(run, state, plan, present.space_id) };
  const waitMs = await settle(run, state, plan, present);
  const why = `waiting until it is certain what an earlier request did in ${manifest.external_space_id}`;
  if (waitMs > 0) return { waitMs, why };
  const result = await post(run, state, plan, present);
  return result ? { result } : { waitMs: 0 };
}

/** Whether another attempt may succeed. */
function isRetryable(run: Run, error: unknown): boolean {
  const { deps, settledPost, failedPost } = run;
  if (settledPost && error === settledPost) {
    run.settledPosts += 1;
    return run.settledPosts <= deps.retries && unusableResponse(settledPost) === undefined;
  }
  run.failures += 1;
  // Twice the retries: an attempt sends one POST at most, and needs a read before it.
  if (run.failures > 2 * deps.retries) return false;
  if (error instanceof RateLimitError) return true;
  if (!(error instanceof ServiceError) || error.info.permanent === true) return false;
  // A POST is sent once, whereas a read has used up all of its retries.
  if (error === failedPost) return true;
  run.failedReads += 1;
  return run.failedReads <= MAX_FAILED_READS;
}

/** Milliseconds to wait after a failure: at least Retry-After. */
function pauseMs(error: unknown, { deps, failures }: Run): number {
  const { clock, random } = deps;
  const retryAt = error instanceof PartnerctlError ? error.info.retryAt : undefined;
  const requestedMs = retryAt === undefined ? 0 : Math.max(0, Date.parse(retryAt) - clock.now());
  return requestedMs + Math.min(MAX_BACKOFF_MS, backoffMs(failures, random()));
}

/** What follows a failed attempt. @returns how many milliseconds to wait before the next one @throws the final error */
async function afterFailure(run: Run, error: unknown): Promise<number> {
  if (error instanceof RemoteStateUnavailable) {
    run.canRead = false;
    if (!run.lostPost) await run.deps.onUnavailable(error);
    return 0;
  }
  if (error instanceof NotFoundError && error !== run.failedPost) {
    // A list may show a space before its agents can be listed.
    run.space = undefined;
    const waitMs = run.window.nextLookMs(['agents']);
    if (waitMs > 0) return waitMs;
  }
  if (!isRetryable(run, error)) throw finalError(error, run);
  const waitMs = pauseMs(error, run);
  if (waitMs > run.deps.http.remainingMs()) throw finalError(error, run);
  return waitMs;
}

/**
 * Creates or reuses the space of a document and installs its missing agents, each once: reads before every POST, because
 * services may install agents again on a repeated POST (spec §4.1), and reserves the space in the log meanwhile. After a
 * POST of unknown outcome, it reads until nothing more can be expected. Without a readable remote state, the log decides.
 * @throws PartnerctlError if that fails; OutcomeUnknownError if only a person can tell what was done
 */
export async function provisionOnce(deps: ProvisionDeps, document: ManifestDocument): Promise<DocumentResult> {
  const run: Run = {
    deps,
    document,
    key: spaceKey(deps.http.baseUrl, document.manifest.external_space_id),
    canRead: deps.listed !== undefined,
    isFirstRead: true,
    ownRecords: new Set(),
    window: new SettleWindow(deps.settleMs),
    settledPosts: 0,
    failures: 0,
    failedReads: 0,
  };
  for (;;) {
    const step: Step = await attempt(run).catch(async (error: unknown) => ({
      waitMs: await afterFailure(run, error),
    }));
    if ('result' in step) return step.result;
    if (step.waitMs > deps.http.remainingMs()) throw outOfTime(document.manifest.external_space_id, run.lostPost);
    if (step.why !== undefined) deps.onWait(step.why);
    if (step.waitMs > 0) await deps.clock.sleep(step.waitMs, deps.interrupt);
    if (step.why !== undefined) deps.onWait('');
    run.window.addSleep(step.waitMs);
  }
}
