import { backoffMs } from '../api/retry.ts';
import {
  InterruptedError,
  LocalError,
  OutcomeUnknownError,
  PartnerctlError,
  RateLimitError,
  ServiceError,
  ShapeError,
  withHint,
} from '../errors.ts';
import { withHistory } from './history.ts';
import type { ManifestDocument } from './manifest.ts';
import { type PresentSpace, type ProvisionPlan, planProvision } from './plan.ts';
import { postOnce, type SpaceState, waitForOthers } from './post-once.ts';
import type { ProvisionDeps, Run } from './provision-run.ts';
import { fetchRemoteState, findSpaces, RemoteStateUnavailable } from './remote-state.ts';
import { appliedResult, type DocumentResult } from './result.ts';
import { settleOpen } from './settle-open.ts';
import { agentKeys, spaceKey } from './space-records.ts';

const MAX_BACKOFF_MS = 4_000;
/** How many times a read is repeated after its own retries failed. */
const MAX_FAILED_READS = 2;

const RERUN_HINT = 'Run it again: it reads what exists before it writes.';

type Step = { readonly result: DocumentResult } | { readonly waitMs: number };

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

/** The failure of a lost POST whose response was unusable: repeating it would get the same response. */
function unusableResponse({ info: { cause } }: PartnerctlError): PartnerctlError | undefined {
  if (cause instanceof ShapeError) return cause;
  if (!(cause instanceof ServiceError)) return undefined;
  const { status = 0 } = cause.info;
  return status >= 300 && status < 400 ? cause : undefined;
}

/** The result of a space in which everything exists. Settles the reservations whose agents are all among them. */
async function finish(run: Run, { open }: SpaceState, plan: ProvisionPlan, spaceId: string): Promise<Step> {
  const { deps, document } = run;
  const agents = plan.agents.map((agent) => agent.present);
  const result = appliedResult(document, run.firstPlan ?? plan, { spaceId, agents });
  if (!run.canRead) return { result };
  const found = { manifest: document.manifest, spaceId, agents: result.agents };
  const existing = new Set(result.agents.flatMap(({ name, template_id }) => agentKeys(name, template_id)));
  for (const { reservation } of open) {
    if (reservation.snapshot.agents.every(({ key }) => existing.has(key)))
      await deps.history.record(found, reservation);
  }
  await deps.history.record(found);
  return { result };
}

/** Reads the remote state, or else what is recorded, and sends one POST if something is missing. */
async function attempt(run: Run): Promise<Step> {
  const { deps, document, key, ownRecords } = run;
  const { manifest } = document;
  const state = await waitForOthers(deps, document, key, ownRecords);
  for (const { reservation } of state.open) {
    if (!run.firstSeen.has(reservation.id)) run.firstSeen.set(reservation.id, run.sleptMs);
  }
  const present = run.canRead ? await readSpace(run, state) : deps.history.recall(manifest);
  const plan = planProvision(manifest, present);
  if (present && plan.action === 'none') return finish(run, state, plan, present.space_id);
  const waitMs = await settleOpen(run, state, plan, present);
  if (waitMs > 0) return { waitMs };
  run.firstPlan ??= plan;
  const before = run.canRead ? new Set(present?.agents.map(({ agent_id }) => agent_id)) : null;
  const task = { document, key, plan, lastRecord: state.objects.at(-1), before, ownRecords };
  const outcome = await postOnce(deps, task).catch((error: unknown) => {
    run.failedPost = error;
    throw error;
  });
  if (outcome.kind === 'outdated') return { waitMs: 0 };
  if (outcome.kind === 'lost') {
    run.lostPost = outcome.error;
    return { waitMs: 0 };
  }
  const result = appliedResult(document, run.firstPlan, outcome.applied);
  if (outcome.unrecorded === undefined) return { result };
  return { result: { ...result, status: 'failed', error: unrecordedError(result, outcome.unrecorded) } };
}

function unrecordedError({ space_id }: DocumentResult, error: unknown): LocalError {
  return new LocalError(`The space was provisioned as ${space_id}, but this could not be recorded.`, {
    why: error instanceof PartnerctlError ? `${error.message}\n${error.info.why ?? ''}`.trim() : String(error),
    hint: 'Run it again when the state file can be written: a token that may list agents finds them, and then nothing is installed again.',
    cause: error,
  });
}

/** Whether another attempt may succeed. */
function isRetryable(run: Run, error: unknown): boolean {
  run.failures += 1;
  // Twice the retries: an attempt sends one POST at most, and needs a read before it.
  if (run.failures > 2 * run.deps.retries) return false;
  if (run.settledPost && error === run.settledPost) return unusableResponse(run.settledPost) === undefined;
  if (error instanceof RateLimitError) return true;
  if (!(error instanceof ServiceError) || error.info.permanent === true) return false;
  // A POST is sent once, whereas a read has used up all of its retries.
  if (error === run.failedPost) return true;
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

/** The error of the last attempt as one about the document. Exit 8 (safe to retry) holds: a rerun reads before it writes. */
function finalError(error: unknown, { lostPost, settledPost }: Run): unknown {
  if (settledPost && error === settledPost) {
    const message = 'The service failed, and the missing agents were not installed.';
    return unusableResponse(settledPost) ?? new ServiceError(message, { ...settledPost.info, hint: RERUN_HINT });
  }
  if (!lostPost || !(error instanceof PartnerctlError)) return error;
  if (error instanceof InterruptedError || error instanceof OutcomeUnknownError) return error;
  // The failure of a read alone would look as if nothing had been sent.
  const hint = `The response to an earlier request was lost: the space may or may not have been provisioned. ${RERUN_HINT}`;
  return withHint(error, { hint, details: {} });
}

/** The error for a command that may not wait until it is certain what a POST did. */
function outOfTime({ lostPost, document }: Run): PartnerctlError {
  if (lostPost) {
    const message = 'The service failed, and the space may or may not have been provisioned.';
    return unusableResponse(lostPost) ?? new ServiceError(message, { ...lostPost.info, hint: RERUN_HINT });
  }
  const id = JSON.stringify(document.manifest.external_space_id);
  return new OutcomeUnknownError(`An earlier run may have provisioned the space ${id}.`, {
    why: 'The time for the command does not allow waiting until nothing more can appear.',
    hint: 'Allow more time with --timeout, or less with --settle.',
  });
}

/** What follows a failed attempt. @returns how many milliseconds to wait before the next one @throws the final error */
async function afterFailure(run: Run, error: unknown): Promise<number> {
  if (error instanceof RemoteStateUnavailable) {
    run.canRead = false;
    if (!run.lostPost) await run.deps.onUnavailable(error);
    return 0;
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
    sleptMs: 0,
    firstSeen: new Map(),
    failures: 0,
    failedReads: 0,
  };
  for (;;) {
    const step = await attempt(run).catch(async (error: unknown) => ({ waitMs: await afterFailure(run, error) }));
    if ('result' in step) return step.result;
    if (step.waitMs > deps.http.remainingMs()) throw outOfTime(run);
    if (step.waitMs > 0) await deps.clock.sleep(step.waitMs, deps.interrupt);
    run.sleptMs += step.waitMs;
  }
}
