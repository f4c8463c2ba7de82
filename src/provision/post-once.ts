import type { Http } from '../api/http.ts';
import type { InTurn } from '../api/take-turns.ts';
import type { Clock } from '../clock.ts';
import { OutcomeUnknownError } from '../errors.ts';
import { LateTurn, requestTime } from '../state-old/late-turn.ts';
import { type KeyState, type OnceDeps, readKey, runOnce } from '../state-old/once.ts';
import type { OpenReservation, RecordedObject } from '../state-old/once-records.ts';
import { type AppliedSpace, appliedResult } from './document-result.ts';
import { type AgentIds, installMissing } from './install-missing.ts';
import type { ManifestDocument } from './manifest.ts';
import { type FoundSpace, foundSnapshot } from './provision-history.ts';
import type { ProvisionPlan } from './provision-plan.ts';
import { unlistedOutcome } from './space-errors.ts';
import { agentKey, type SpaceSnapshot, spaceContentHash } from './space-records.ts';

export type SpaceState = KeyState<SpaceSnapshot>;
export type OpenSpace = OpenReservation<SpaceSnapshot>;

export interface PostDeps {
  readonly http: Http;
  readonly clock: Clock;
  /** The log of reservations, and this process. */
  readonly once: OnceDeps<SpaceSnapshot>;
  /** Aborts waiting for another process. */
  readonly abortSignal: AbortSignal;
  /** Bounds how many documents send requests at once: more may be waiting for the state. */
  readonly inTurn: InTurn;
  /** Called with what a document waits for, and with an empty text afterwards. @param leftMs how long at most, if known */
  readonly onWait: (why: string, leftMs?: number) => void;
}

/** The time limit of a POST, even if the command may take longer: other processes wait for its outcome. */
const MAX_POST_MS = 120_000;
/** How much longer a reservation lasts than its POST may take: an interrupted call takes some seconds to end. */
const DEADLINE_MARGIN_MS = 10_000;
const POLL_MS = 200;

/**
 * Reads the records of a space once no other process provisions it.
 * @param ownRecords the ids of the records that this run made
 * @returns the records, all of whose open reservations may have been carried out
 * @throws LocalError if the state file cannot be read; the reason of the abort signal
 */
export async function waitForOthers(
  { once, clock, abortSignal, onWait }: PostDeps,
  { manifest }: ManifestDocument,
  key: string,
  ownRecords: ReadonlySet<string>,
): Promise<SpaceState> {
  for (let isWaiting = false; ; isWaiting = true) {
    const state = await readKey(key, once);
    const isFree = state.open.every(({ reservation, isAbandoned }) => isAbandoned || ownRecords.has(reservation.id));
    if (isWaiting && isFree) onWait('');
    if (isFree) return state;
    onWait(`another process is provisioning ${manifest.external_space_id}`);
    await clock.sleep(POLL_MS, abortSignal);
  }
}

/** What a POST installs, and what was known when that was decided. */
export interface PostTask {
  readonly document: ManifestDocument;
  readonly key: string;
  readonly plan: ProvisionPlan;
  /** The known id of the space, if it exists. */
  readonly spaceId: string | undefined;
  /** The last record of the space before the plan was made. */
  readonly lastRecord: RecordedObject<SpaceSnapshot> | undefined;
  /** The agents that exist; null if they cannot be listed. */
  readonly before: AgentIds | null;
  /** Receives the ids of the records that this run makes. */
  readonly ownRecords: Set<string>;
}

export type PostOutcome =
  /** `unrecorded` is set if the outcome could not be recorded: why, and where the record is kept instead. */
  | {
      readonly kind: 'applied';
      readonly applied: AppliedSpace;
      readonly unrecorded?: { readonly error: unknown; readonly recoveryPath: string | undefined };
    }
  /** Nothing was sent: another process reserved or provisioned the space since the plan was made, or it waited too long. */
  | { readonly kind: 'outdated' }
  | LostPost;

/** A POST that may have been carried out, and is recorded as such. */
export interface LostPost {
  readonly kind: 'lost';
  readonly error: OutcomeUnknownError;
  /** What the service accepted if it does not list what it installed. */
  readonly accepted: AppliedSpace | undefined;
}

function toItem({ http, clock }: PostDeps, task: PostTask) {
  const { document, key, plan, before } = task;
  const { manifest } = document;
  const limitMs = Math.min(http.remainingMs(), MAX_POST_MS);
  const sendBy = clock.now() + limitMs;
  const missing = plan.agents.filter(({ present }) => !present);
  const snapshot: SpaceSnapshot = {
    origin: http.baseUrl,
    external_space_id: manifest.external_space_id,
    content_hash: spaceContentHash(manifest),
    agents: missing.map(({ wanted }) => ({ key: agentKey(wanted.name, wanted.template_id) })),
  };
  const remoteIdsSeen = before && [...before].filter((id) => id !== undefined);
  const item = { key, snapshot, deadline: new Date(sendBy + DEADLINE_MARGIN_MS).toISOString(), remoteIdsSeen };
  // The machine may sleep, which the monotonic clock may not show, and the wall clock may be set back.
  const startedAt = clock.monotonic();
  const remainingMs = (): number => Math.min(sendBy - clock.now(), limitMs - (clock.monotonic() - startedAt));
  return { item, limitMs, remainingMs };
}

/**
 * Reserves the space, installs what is missing with one POST, and records the outcome.
 * @throws PartnerctlError that proves that nothing was installed; LocalError if the space cannot be reserved
 */
export async function postOnce(deps: PostDeps, task: PostTask): Promise<PostOutcome> {
  const { http, once } = deps;
  const { document, plan, lastRecord, ownRecords } = task;
  const { item, limitMs, remainingMs } = toItem(deps, task);
  const { writeRecovery } = once;
  let applied: AppliedSpace | undefined;
  /** The response has the ids of the agents, which the reservation could not have. */
  function createdSnapshot(): SpaceSnapshot {
    if (!applied) return item.snapshot;
    const { agents } = appliedResult(document, plan, applied);
    // Another space has only what this POST installed.
    const wanted = plan.agents.filter(({ present }) => !(applied?.isOther && present)).map((agent) => agent.wanted);
    const manifest = { ...document.manifest, agents: wanted };
    return foundSnapshot(http.baseUrl, { manifest, spaceId: applied.spaceId, agents });
  }
  const onceDeps: OnceDeps<SpaceSnapshot> = {
    ...once,
    newId() {
      const id = once.newId();
      ownRecords.add(id);
      return id;
    },
    ledger: {
      ...once.ledger,
      append: (record) =>
        once.ledger.append(record.kind === 'created' ? { ...record, snapshot: createdSnapshot() } : record),
    },
    ...(writeRecovery && { writeRecovery: (record) => writeRecovery({ ...record, snapshot: createdSnapshot() }) }),
  };
  const onceTask = {
    describe: async () => item,
    objection({ objects, open }: SpaceState, reservationId: string | undefined) {
      const isFirst = open[0]?.reservation.id === reservationId;
      return objects.at(-1)?.id !== lastRecord?.id || (open.length > 0 && !isFirst) ? 'outdated' : undefined;
    },
  };
  const outcome = await runOnce(onceTask, onceDeps, async (commit) => {
    await commit();
    applied = await deps.inTurn(() => {
      // If the machine slept in the meantime, another process may have settled the reservation.
      const timeoutMs = requestTime(remainingMs(), limitMs, 'the space was provisioned');
      return installMissing(http, document, plan, {
        timeoutMs,
        spaceId: task.spaceId,
        before: task.before ?? new Set(),
      });
    });
    const { isUnlisted, isOther, failure } = applied;
    // Without lists, only the log prevents that the agents are installed again: they count as installed.
    if (isUnlisted && failure && !isOther && task.before) throw unlistedOutcome(document, failure);
    return applied.spaceId;
  });
  switch (outcome.kind) {
    case 'refused':
      // This run's reservation is still open: trying again would wait for it.
      if (outcome.releaseError) throw outcome.releaseError;
      return { kind: 'outdated' };
    case 'unknown':
      if (!(outcome.error instanceof OutcomeUnknownError)) throw outcome.error;
      return { kind: 'lost', error: outcome.error, accepted: applied };
    case 'failed':
      if (outcome.isReleased && outcome.error instanceof LateTurn && http.remainingMs() > 0)
        return { kind: 'outdated' };
      throw outcome.error;
    case 'created':
      if (!applied) throw new Error('A space was provisioned without a result.');
      return { kind: 'applied', applied, ...(outcome.unrecorded && { unrecorded: outcome.unrecorded }) };
  }
}

/** What is known of a space that the service accepted, to be recorded: it is not complete without all ids. */
export function acceptedSpace(document: ManifestDocument, plan: ProvisionPlan, accepted: AppliedSpace): FoundSpace {
  const { manifest } = document;
  const { agents } = appliedResult(document, plan, accepted);
  const isKnown = (_: unknown, index: number) => typeof agents[index]?.agent_id === 'string';
  return {
    manifest: { ...manifest, agents: manifest.agents.filter(isKnown) },
    spaceId: accepted.spaceId,
    agents: agents.filter(isKnown),
  };
}
