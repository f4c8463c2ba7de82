import { RunStopped, reasonOfStop } from '../api/take-turns.ts';
import type { ListedSpace } from '../contract/spaces.ts';
import { NotFoundError, type OutcomeUnknownError } from '../errors.ts';
import { readKey } from '../state-old/once.ts';
import { OwnerWatch } from '../state-old/owner-watch.ts';
import { AttemptLimits, type FailedStep } from './attempt-limits.ts';
import {
  type AppliedSpace,
  appliedResult,
  type DocumentResult,
  otherSpaceResult,
  unfinishedResult,
} from './document-result.ts';
import {
  adoptCarriedOut,
  findAmbiguity,
  findLateEffects,
  findObstacle,
  releaseAll,
  SettleWindow,
  type SpaceKnowledge,
} from './late-effects.ts';
import type { ManifestDocument } from './manifest.ts';
import { acceptedSpace, type LostPost, postOnce, type SpaceState, waitForOthers } from './post-once.ts';
import type { ProvisionDeps } from './provision-deps.ts';
import { withHistory } from './provision-history.ts';
import { type PresentSpace, type ProvisionPlan, planProvision } from './provision-plan.ts';
import { fetchRemoteState, RemoteStateUnavailable } from './remote-state.ts';
import {
  lostPostError,
  missingIdsError,
  namingAgents,
  otherSpaceError,
  outOfTimeError,
  unrecordedSpaceError,
  withLostPost,
} from './space-errors.ts';
import { spaceKey } from './space-records.ts';

/** What an attempt sees before it decides. */
interface Observation {
  readonly state: SpaceState;
  /** By reservation, the monotonic time from which on its owner sends nothing more. */
  readonly quietFrom: ReadonlyMap<string, number>;
  /** When the service was asked, by the monotonic clock. */
  readonly at: number;
  readonly present: PresentSpace | undefined;
  readonly plan: ProvisionPlan;
}

/** A wait before the next attempt. */
interface Wait {
  readonly waitMs: number;
  /** What is waited for, and how long that may take; nothing to say without it. */
  readonly why?: { readonly text: string; readonly leftMs: number };
}

/** How an attempt ended. */
type Step =
  | { readonly kind: 'done'; readonly result: DocumentResult }
  | ({ readonly kind: 'wait' } & Wait)
  | { readonly kind: 'failed'; readonly step: FailedStep; readonly error: unknown };

const READ_AGAIN: Step = { kind: 'wait', waitMs: 0 };

/** The attempts to apply one document. */
class DocumentRun {
  private readonly deps: ProvisionDeps;
  private readonly document: ManifestDocument;
  private readonly key: string;
  private readonly window: SettleWindow;
  private readonly watch: OwnerWatch;
  private readonly limits: AttemptLimits;
  /** The ids of the records that this run made. */
  private readonly ownRecords = new Set<string>();
  /** The reservations that --retry-unknown is about: those of unknown outcome when this run began. */
  private excused: ReadonlySet<string> | undefined;
  private canRead: boolean;
  private isFirstRead = true;
  /** The space, once it was listed. */
  private space: ListedSpace | undefined;
  /** A listed space with a similar external id. */
  private similar: ListedSpace | undefined;
  /** The plan before anything was sent. */
  private firstPlan: ProvisionPlan | undefined;
  /** What was read or recalled last. */
  private seen: Pick<Observation, 'present' | 'plan'> | undefined;
  /** The failure of the last POST that may have been carried out. */
  private lostPost: OutcomeUnknownError | undefined;
  /** What this run's POST installed if the service accepted it and does not list the agents yet. */
  private accepted: AppliedSpace | undefined;

  constructor(deps: ProvisionDeps, document: ManifestDocument) {
    this.deps = deps;
    this.document = document;
    this.key = spaceKey(deps.http.baseUrl, document.manifest.external_space_id);
    this.window = new SettleWindow(deps.settleMs);
    this.watch = new OwnerWatch(deps.once);
    this.limits = new AttemptLimits(deps);
    this.canRead = deps.list !== undefined;
  }

  /** Applies the document. A failure is a result, with the ids of what exists. */
  async run(): Promise<DocumentResult> {
    try {
      return await this.repeat();
    } catch (error) {
      const { document, firstPlan, seen, space, accepted } = this;
      const known = { spaceId: seen?.present?.space_id ?? space?.space_id, firstPlan, plan: seen?.plan, accepted };
      if (error instanceof RunStopped) return unfinishedResult(document, known, 'skipped');
      return { ...unfinishedResult(document, known, 'failed'), error };
    }
  }

  /** Repeats attempts until one is decisive. */
  private async repeat(): Promise<DocumentResult> {
    const { clock, interrupt, http, onWait } = this.deps;
    for (;;) {
      const step = await this.attempt().catch((error: unknown): Step => ({ kind: 'failed', step: 'read', error }));
      if (step.kind === 'done') return step.result;
      const { waitMs, why } = step.kind === 'wait' ? step : await this.afterFailure(step);
      if (waitMs > http.remainingMs()) throw outOfTimeError(this.document.manifest.external_space_id, this.lostPost);
      if (why) onWait(why.text, why.leftMs);
      if (waitMs > 0) await clock.sleep(waitMs, interrupt).catch((error) => this.fail(error));
      onWait('');
    }
  }

  /** Reads the remote state, or else what is recorded, and sends one POST if something is missing. */
  private async attempt(): Promise<Step> {
    const seen = await this.observe();
    const { present, plan } = seen;
    if (present && plan.action === 'none') {
      return { kind: 'done', result: await this.finish(seen, present.space_id) };
    }
    const { waitMs, leftMs } = await this.settle(seen);
    const text = `waiting until it is certain what an earlier request did in ${this.document.manifest.external_space_id}`;
    if (waitMs > 0) return { kind: 'wait', waitMs, why: { text, leftMs } };
    const { lostPost } = this;
    this.lostPost = undefined;
    return lostPost ? { kind: 'failed', step: 'lost post', error: lostPost } : await this.post(seen);
  }

  private async observe(): Promise<Observation> {
    const { deps, document, key, ownRecords } = this;
    this.excused ??= await this.findExcused();
    const state = await waitForOthers(deps, document, key, ownRecords);
    const quietFrom = new Map<string, number>();
    for (const open of state.open) {
      const { id } = open.reservation;
      quietFrom.set(id, ownRecords.has(id) ? 0 : await this.watch.look(open));
    }
    const at = deps.clock.monotonic();
    const present = this.canRead ? await this.readSpace(state) : deps.history.recall(document.manifest);
    this.seen = { present, plan: planProvision(document.manifest, present) };
    return { state, quietFrom, at, ...this.seen };
  }

  private async findExcused(): Promise<ReadonlySet<string>> {
    const { retryUnknown, once } = this.deps;
    const open = retryUnknown ? (await readKey(this.key, once)).open : [];
    return new Set(open.filter(({ isAbandoned }) => isAbandoned).map(({ reservation }) => reservation.id));
  }

  private async readSpace({ objects }: SpaceState): Promise<PresentSpace | undefined> {
    const { http, history, list, inTurn } = this.deps;
    const { manifest } = this.document;
    const isFirst = this.isFirstRead;
    this.isFirstRead = false;
    if (list && !this.space) {
      const recent = isFirst ? await list.recent() : undefined;
      // A list that was read before another process provisioned the space does not show it.
      const isCurrent = recent && objects.at(-1)?.id === recent.lastRecords.get(this.key);
      const { spaces, similar } = isCurrent ? recent : await list.anew();
      this.space = spaces.get(manifest.external_space_id);
      this.similar = similar.get(manifest.external_space_id);
    }
    const { space } = this;
    return space && withHistory(await inTurn(() => fetchRemoteState(http, space)), history.recall(manifest));
  }

  /** The result of a space in which everything exists. Settles the reservations whose agents are all among them. */
  private async finish({ state, plan, present }: Observation, spaceId: string): Promise<DocumentResult> {
    const { document, canRead } = this;
    const { manifest } = document;
    const agents = plan.agents.map((agent) => agent.present);
    const created = this.accepted?.created;
    const result = appliedResult(document, this.firstPlan ?? plan, { spaceId, agents, created });
    if (!canRead) return result;
    const { history } = this.deps;
    await adoptCarriedOut(state.open, { manifest, canRead, present, plan }, history);
    await history.record({ manifest, spaceId, agents: result.agents });
    return result;
  }

  /**
   * Waits until nothing more can be expected of earlier POSTs and late lists, now that a read did not show all agents.
   * @returns how long to wait, as `SettleWindow` says; 0 once it is recorded that what is missing is not there
   * @throws OutcomeUnknownError if only a person can tell
   */
  private async settle(seen: Observation): Promise<ReturnType<SettleWindow['nextRead']>> {
    const { state, quietFrom, at, plan, present } = seen;
    const { history, once, retryUnknown } = this.deps;
    const { manifest } = this.document;
    const known: SpaceKnowledge = {
      manifest,
      canRead: this.canRead,
      listedSpaceId: this.space?.space_id,
      present,
      similar: await history.findSimilar(this.document, { canRead: this.canRead, space: this.similar }),
      recalled: history.recall(manifest),
      unsettled: state.open.filter(({ reservation }) => !this.excused?.has(reservation.id)),
      lines: history.blockingLines(manifest),
      label: history.label,
      retryUnknown,
    };
    const obstacle = findObstacle(known, this.lostPost);
    if (obstacle) throw obstacle;
    const late = findLateEffects(known, plan);
    const missing = new Map(late.reservations.map(({ reservation: { id } }) => [id, quietFrom.get(id) ?? 0]));
    for (const { digest } of late.lines) missing.set(digest, 0);
    if (late.hasRecorded) missing.set('recorded', 0);
    const next = this.window.nextRead(missing, at);
    if (next.waitMs > 0) return next;
    const ambiguity = findAmbiguity(known, plan, this.lostPost);
    if (ambiguity) throw ambiguity;
    const { lines } = known;
    const open = await adoptCarriedOut(state.open, { ...known, plan }, history);
    await releaseAll({ key: this.key, open, lines }, once, retryUnknown ? 'retry_unknown' : 'not_found');
    return next;
  }

  /** Sends one POST. If its outcome is unknown, another read must follow. */
  private async post({ state, plan, present }: Observation): Promise<Step> {
    const { deps, document, key, ownRecords } = this;
    this.firstPlan ??= plan;
    const before = this.canRead ? new Set(present?.agents.map(({ agent_id }) => agent_id)) : null;
    const lastRecord = state.objects.at(-1);
    const task = { document, key, plan, spaceId: present?.space_id, lastRecord, before, ownRecords };
    try {
      const outcome = await postOnce(deps, task);
      if (outcome.kind === 'lost') await this.keepLost(plan, outcome);
      if (outcome.kind !== 'applied') return READ_AGAIN;
      const { applied, unrecorded } = outcome;
      const isShared = deps.once.writeRecovery !== undefined;
      const notRecorded = unrecorded && unrecordedSpaceError(applied.spaceId, { ...unrecorded, isShared });
      if (present && applied.isOther) {
        const error = notRecorded ?? otherSpaceError(document.manifest.external_space_id, present, applied.spaceId);
        return { kind: 'done', result: otherSpaceResult(document, applied, error) };
      }
      const result = appliedResult(document, this.firstPlan, applied);
      const error = notRecorded ?? missingIdsError(result, applied.failure);
      return { kind: 'done', result: error ? { ...result, status: 'failed', error } : result };
    } catch (error) {
      return { kind: 'failed', step: 'post', error };
    }
  }

  private async keepLost(plan: ProvisionPlan, { error, accepted }: LostPost): Promise<void> {
    this.lostPost = error;
    this.accepted = accepted;
    if (accepted) await this.deps.history.record(acceptedSpace(this.document, plan, accepted));
  }

  private fail(error: unknown): never {
    throw this.lostPost ? withLostPost(reasonOfStop(error), this.lostPost) : error;
  }

  /** What follows a failed attempt. @throws the final error */
  private async afterFailure({ step, error }: Extract<Step, { kind: 'failed' }>): Promise<Wait> {
    const { external_space_id } = this.document.manifest;
    if (error instanceof RemoteStateUnavailable) {
      this.canRead = false;
      if (!this.lostPost) await this.deps.onUnavailable(error);
      return { waitMs: 0 };
    }
    if (error instanceof NotFoundError && step === 'read') {
      // A list may show a space before its agents can be listed.
      this.space = undefined;
      const { waitMs, leftMs } = this.window.nextRead(new Map([['agents', 0]]), this.deps.clock.monotonic());
      const text = `waiting until the agents of ${external_space_id} are listed`;
      if (waitMs > 0) return { waitMs, why: { text, leftMs } };
    }
    if (this.limits.mayRepeat(step, error)) {
      const pauseMs = this.limits.pauseMs(error);
      const why = { text: `trying ${external_space_id} again`, leftMs: pauseMs };
      if (pauseMs <= this.deps.http.remainingMs()) return { waitMs: pauseMs, why };
    }
    if (step === 'lost post') throw lostPostError(error);
    return this.fail(step === 'post' ? namingAgents(error, this.seen?.plan) : error);
  }
}

/**
 * Creates or reuses the space of a document and installs its missing agents, each once: reads before every POST, because
 * services may install agents again on a repeated POST (spec §4.1), and reserves the space in the log meanwhile. After a
 * POST of unknown outcome, it reads until nothing more can be expected. Without a readable remote state, the log decides.
 * @returns the result. Failures are in it, an OutcomeUnknownError if only a person can tell what was done; nothing is thrown.
 */
export async function provisionOnce(deps: ProvisionDeps, document: ManifestDocument): Promise<DocumentResult> {
  return await new DocumentRun(deps, document).run();
}
