import type { Http } from '../api/http.ts';
import { backoffMs } from '../api/retry.ts';
import type { JsonObject } from '../contract/json.ts';
import {
  InterruptedError,
  OutcomeUnknownError,
  PartnerctlError,
  RateLimitError,
  ServiceError,
  ShapeError,
  withHint,
} from '../errors.ts';
import type { CronDeps } from './create-cron-jobs.ts';
import { type ProvisionHistory, withHistory } from './history.ts';
import { type AgentIds, installMissing } from './install-missing.ts';
import type { ManifestDocument } from './manifest.ts';
import { type PresentSpace, type ProvisionPlan, planProvision } from './plan.ts';
import { fetchRemoteState, findSpaces, RemoteStateUnavailable } from './remote-state.ts';
import { appliedResult, type DocumentResult } from './result.ts';

export interface ProvisionDeps extends CronDeps {
  readonly http: Http;
  readonly random: () => number;
  readonly retries: number;
  /** The run's spaces that the service lists, by external id; undefined if the token may not read them. */
  readonly listed: ReadonlyMap<string, JsonObject> | undefined;
  readonly history: ProvisionHistory;
  /** Called with the reason when the remote state turns out to be unavailable. */
  readonly onUnavailable: (reason: RemoteStateUnavailable) => Promise<void>;
}

/** The service may still be processing a request whose response was lost: an immediate read would miss its effect. */
const SETTLE_MS = 1_000;
const MAX_BACKOFF_MS = 4_000;
/** How many times a read is repeated after its own retries failed. */
const MAX_FAILED_READS = 2;

const RERUN_HINT = 'Run it again: it reads what exists before it writes.';

/** What the attempts to apply one document share. */
interface Attempts {
  /** The plan before anything was sent. */
  firstPlan?: ProvisionPlan;
  /** The agents that existed before anything was sent. */
  before?: AgentIds;
  /** The space, once it was listed. */
  space?: JsonObject | undefined;
  /** The failure of the last POST that may have been carried out. */
  lostPost?: OutcomeUnknownError;
  /** The lost POST after which the remote state was read. */
  checkedPost?: OutcomeUnknownError | undefined;
  /** The failure of the last POST that was not carried out. */
  failedPost?: unknown;
  failedReads: number;
}

function agentIds(present: PresentSpace | undefined): AgentIds {
  return new Set(present?.agents.map(({ agent_id }) => agent_id));
}

async function record(
  deps: ProvisionDeps,
  document: ManifestDocument,
  result: DocumentResult,
): Promise<DocumentResult> {
  if (result.space_id !== null) await deps.history.record(document.manifest, result.space_id, result.agents);
  return result;
}

/** A repeated POST reuses the space (spec §4.1), and the state file knows what earlier runs installed. */
async function applyWithoutRead(deps: ProvisionDeps, document: ManifestDocument): Promise<DocumentResult> {
  const known = deps.history.recall(document.manifest);
  const plan = planProvision(document.manifest, known);
  if (known && plan.action === 'none') {
    const agents = plan.agents.map((agent) => agent.present);
    return appliedResult(document, plan, { spaceId: known.space_id, agents });
  }
  const options = { safety: 'idempotent', before: agentIds(known) } as const;
  const applied = await installMissing(deps.http, document, plan, options);
  return record(deps, document, appliedResult(document, plan, applied));
}

async function readSpace(
  { http, history }: ProvisionDeps,
  document: ManifestDocument,
  attempts: Attempts,
  listed: ReadonlyMap<string, JsonObject> | undefined,
): Promise<PresentSpace | undefined> {
  const { manifest } = document;
  attempts.space ??= (listed ?? (await findSpaces(http, [document], true))).get(manifest.external_space_id);
  return attempts.space && withHistory(await fetchRemoteState(http, attempts.space), history.recall(manifest));
}

/** Whether an earlier run installed one of the missing agents without learning its id. */
function wasInstalledUnnamed(known: PresentSpace | undefined, plan: ProvisionPlan): boolean {
  const unnamed = known?.agents.filter(({ agent_id }) => agent_id === undefined) ?? [];
  return plan.agents.some(
    ({ wanted, present }) =>
      !present && unnamed.some(({ name, template_id }) => name === wanted.name && template_id === wanted.template_id),
  );
}

/**
 * Refuses to install agents that may exist under other names: an earlier POST may have installed agents that the service
 * renamed, and another one could install them twice. Only a person can decide.
 * @throws OutcomeUnknownError
 */
function refuseAmbiguousAgents(
  { lostPost, before }: Attempts,
  plan: ProvisionPlan,
  present: PresentSpace | undefined,
  known: PresentSpace | undefined,
): void {
  const paired = new Set(plan.agents.flatMap((agent) => agent.present?.agent_id ?? []));
  const unpaired = (present?.agents ?? []).filter(({ agent_id }) => agent_id !== undefined && !paired.has(agent_id));
  const isUnnamed = known?.space_id === present?.space_id && wasInstalledUnnamed(known, plan);
  const suspects = isUnnamed ? unpaired : unpaired.filter(({ agent_id }) => lostPost && !before?.has(agent_id));
  if (suspects.length === 0) return;
  throw new OutcomeUnknownError('Some agents of the space may be the ones that an earlier request installed.', {
    why: suspects.map(({ agent_id, name }) => `${agent_id} ${name ?? ''}`.trim()).join('\n'),
    hint: 'Compare the agents of the space with the manifest. Nothing more is installed, so that no agent is installed twice.',
    details: { agents: suspects },
  });
}

/** The failure of a lost POST whose response was unusable: repeating it would get the same response. */
function unusableResponse({ info: { cause } }: PartnerctlError): PartnerctlError | undefined {
  if (cause instanceof ShapeError) return cause;
  if (!(cause instanceof ServiceError)) return undefined;
  const { status = 0 } = cause.info;
  return status >= 300 && status < 400 ? cause : undefined;
}

/** Reads the remote state once, and sends one POST if something is missing. */
async function attempt(
  deps: ProvisionDeps,
  document: ManifestDocument,
  attempts: Attempts,
  listed: ReadonlyMap<string, JsonObject> | undefined,
): Promise<DocumentResult> {
  const present = await readSpace(deps, document, attempts, listed);
  attempts.checkedPost = attempts.lostPost;
  const plan = planProvision(document.manifest, present);
  attempts.firstPlan ??= plan;
  attempts.before ??= agentIds(present);
  if (present && plan.action === 'none') {
    const agents = plan.agents.map((agent) => agent.present);
    return record(deps, document, appliedResult(document, attempts.firstPlan, { spaceId: present.space_id, agents }));
  }
  refuseAmbiguousAgents(attempts, plan, present, deps.history.recall(document.manifest));
  const unusable = attempts.lostPost && unusableResponse(attempts.lostPost);
  if (unusable) throw unusable;
  try {
    const options = { safety: 'once', before: agentIds(present) } as const;
    const applied = await installMissing(deps.http, document, plan, options);
    return await record(deps, document, appliedResult(document, attempts.firstPlan, applied));
  } catch (error) {
    if (error instanceof OutcomeUnknownError) attempts.lostPost = error;
    else attempts.failedPost = error;
    throw error;
  }
}

/** Whether another attempt may succeed: a read shows what a lost POST did, and a failed read may succeed next time. */
function isRetryable(error: unknown, attempts: Attempts): boolean {
  const { lostPost, failedPost } = attempts;
  if (error === lostPost || error instanceof RateLimitError) return true;
  if (!(error instanceof ServiceError) || error.info.permanent === true) return false;
  if (lostPost && error === unusableResponse(lostPost)) return false;
  // A POST is sent once, whereas a read has used up all of its retries.
  if (error === failedPost) return true;
  attempts.failedReads += 1;
  return attempts.failedReads <= MAX_FAILED_READS;
}

/** Milliseconds to wait before attempt `count + 1`: at least Retry-After, and what a lost POST may still take. */
function pauseMs(error: unknown, count: number, { clock, random }: ProvisionDeps): number {
  const retryAt = error instanceof PartnerctlError ? error.info.retryAt : undefined;
  const requestedMs = retryAt === undefined ? 0 : Date.parse(retryAt) - clock.now();
  return Math.max(requestedMs, SETTLE_MS) + Math.min(MAX_BACKOFF_MS, backoffMs(count, random()));
}

/** The error of the last attempt as one about the document. Exit 8 (safe to retry) holds: a rerun reads before it writes. */
function finalError(error: unknown, { lostPost, checkedPost }: Attempts): unknown {
  if (lostPost && error === lostPost) {
    const message = 'The service failed, and the space may or may not have been provisioned.';
    return unusableResponse(lostPost) ?? new ServiceError(message, { ...lostPost.info, hint: RERUN_HINT });
  }
  const isChecked = lostPost === checkedPost;
  if (isChecked || !(error instanceof PartnerctlError) || error instanceof InterruptedError) return error;
  // The failure of a read alone would look as if nothing had been sent.
  const hint = `The response to an earlier request was lost: the space may or may not have been provisioned. ${RERUN_HINT}`;
  return withHint(error, { hint, details: {} });
}

/** Reads before every POST: some services install agents again on a repeated POST. */
async function applyAfterRead(
  deps: ProvisionDeps,
  document: ManifestDocument,
  listed: ReadonlyMap<string, JsonObject>,
  attempts: Attempts,
): Promise<DocumentResult> {
  // Twice the retries: an attempt sends one POST at most, and a lost one takes a second attempt to check.
  const maxAttempts = 1 + 2 * deps.retries;
  for (let count = 1; ; count += 1) {
    try {
      return await attempt(deps, document, attempts, count === 1 ? listed : undefined);
    } catch (error) {
      if (error instanceof RemoteStateUnavailable) throw error;
      if (count >= maxAttempts || !isRetryable(error, attempts)) throw finalError(error, attempts);
      const delayMs = pauseMs(error, count, deps);
      if (delayMs > deps.http.remainingMs()) throw finalError(error, attempts);
      await deps.clock.sleep(delayMs, deps.interrupt);
    }
  }
}

/**
 * Creates or reuses the space of a document and installs its missing agents, each once, even if responses are lost
 * (spec §4.1).
 * @throws PartnerctlError if that fails; OutcomeUnknownError if only a person can tell what was done
 */
export async function provisionOnce(deps: ProvisionDeps, document: ManifestDocument): Promise<DocumentResult> {
  if (!deps.listed) return applyWithoutRead(deps, document);
  const attempts: Attempts = { failedReads: 0 };
  try {
    return await applyAfterRead(deps, document, deps.listed, attempts);
  } catch (error) {
    if (!(error instanceof RemoteStateUnavailable)) throw error;
    if (attempts.lostPost) {
      throw new OutcomeUnknownError('A response was lost, and the token may no longer read the agents.', {
        ...attempts.lostPost.info,
        why: error.message,
        hint: 'Check the agents of the space before you run it again.',
      });
    }
    await deps.onUnavailable(error);
    return applyWithoutRead(deps, document);
  }
}
