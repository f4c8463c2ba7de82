import type { OutcomeUnknownError } from '../errors.ts';
import type { OnceDeps } from '../state-old/once.ts';
import { NO_ID, stampRecord } from '../state-old/once-records.ts';
import type { BlockingLine } from '../state-old/unusable-lines.ts';
import type { Manifest } from './manifest.ts';
import type { OpenSpace } from './post-once.ts';
import type { ProvisionHistory } from './provision-history.ts';
import type { PlannedAgent, PresentAgent, PresentSpace, ProvisionPlan } from './provision-plan.ts';
import type { SimilarSpace } from './similar-spaces.ts';
import {
  ambiguousError,
  blockedSpaceError,
  hiddenAgentsError,
  sharedSpaceError,
  similarSpaceError,
  unlistedSpaceError,
  unnamedAgentsError,
  unusableLineError,
} from './space-errors.ts';
import { agentKeys, type SpaceSnapshot } from './space-records.ts';

/*
 * What may still appear at the service: the effect of a POST whose outcome is unknown, or what a list does not show yet.
 */

const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 4_000;

/**
 * Tells how long something may still appear: it counts from when this run first missed it, by the monotonic clock. The
 * clock of an earlier run, or of another machine, may be wrong by any amount.
 */
export class SettleWindow {
  private readonly settleMs: number;
  private readonly missedSince = new Map<string, number>();

  /** @param settleMs for how long something may appear, in milliseconds */
  constructor(settleMs: number) {
    this.settleMs = settleMs;
  }

  /**
   * Call it after a read of the service that did not show some things.
   * @param missing the id of each, with the time from which on no request is sent that could create it
   * @param readAt when that read began
   * @returns how many milliseconds to sleep before the next read, and for how many they may appear; 0 if no longer
   */
  nextRead(missing: ReadonlyMap<string, number>, readAt: number): { readonly waitMs: number; readonly leftMs: number } {
    let leftMs = 0;
    let sinceMs = MAX_PAUSE_MS;
    for (const [id, quietFrom] of missing) {
      const missedAt = this.missedSince.get(id) ?? readAt;
      this.missedSince.set(id, missedAt);
      leftMs = Math.max(leftMs, Math.max(missedAt, quietFrom) + this.settleMs - readAt);
      sinceMs = Math.min(sinceMs, readAt - missedAt);
    }
    return { waitMs: Math.min(leftMs, MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, sinceMs)), leftMs };
  }
}

/** Whether one of these missing agents exists according to the records. */
function isAnyRecorded(missing: readonly PlannedAgent[], recorded: PresentSpace | undefined): boolean {
  return missing.some(({ wanted }) =>
    recorded?.agents.some(({ name, template_id }) => name === wanted.name && template_id === wanted.template_id),
  );
}

/** Whether an earlier run may have installed one of these missing agents without learning its id. */
function isAnyUnnamed(
  missing: readonly PlannedAgent[],
  present: PresentSpace | undefined,
  recorded: PresentSpace | undefined,
): boolean {
  const unnamed = recorded && { ...recorded, agents: recorded.agents.filter(({ agent_id }) => agent_id === undefined) };
  return recorded?.space_id === present?.space_id && isAnyRecorded(missing, unnamed);
}

/**
 * The agents that may be the missing ones under other names, because the service may rename what a POST installs.
 * @param open the reservations whose POST may have installed agents
 * @param known the space according to the records
 */
function findSuspects(
  open: readonly OpenSpace[],
  plan: ProvisionPlan,
  present: PresentSpace | undefined,
  known: PresentSpace | undefined,
): readonly PresentAgent[] {
  const paired = new Set(plan.agents.flatMap((agent) => agent.present?.agent_id ?? []));
  const missing = plan.agents.filter((agent) => !agent.present);
  const isUnnamed = isAnyUnnamed(missing, present, known);
  return (present?.agents ?? []).filter(({ agent_id }) => {
    if (agent_id === undefined || paired.has(agent_id)) return false;
    return isUnnamed || open.some(({ reservation }) => !reservation.remoteIdsSeen?.includes(agent_id));
  });
}

/** What is known about a space of a manifest before anything is sent. */
export interface SpaceKnowledge {
  readonly manifest: Manifest;
  /** Whether the spaces and the agents can be listed. */
  readonly canRead: boolean;
  /** The listed space, even if its agents cannot be listed. */
  readonly listedSpaceId: string | undefined;
  /** The space: as listed or, where that is not possible, as recorded. */
  readonly present: PresentSpace | undefined;
  /** What the service may take for the space, if that is missing. */
  readonly similar: SimilarSpace | undefined;
  /** The space as the state file records it. */
  readonly recalled: PresentSpace | undefined;
  /** The reservations whose POST may have installed agents. */
  readonly unsettled: readonly OpenSpace[];
  /** The lines of the state file that cannot be used and may be about the space. */
  readonly lines: readonly BlockingLine[];
  /** Names the state in messages. */
  readonly label: string;
  /** Whether to post although an earlier run may have installed the agents. */
  readonly retryUnknown: boolean;
}

/**
 * Why nothing may be posted to a space in which something is missing, whatever appears later.
 * @param lostPost the failure of this run's own POST, if that is what may have been carried out
 * @returns undefined if nothing is in the way
 */
export function findObstacle(
  {
    manifest,
    canRead,
    listedSpaceId,
    present,
    similar,
    recalled,
    unsettled,
    lines,
    label,
    retryUnknown,
  }: SpaceKnowledge,
  lostPost: OutcomeUnknownError | undefined,
): OutcomeUnknownError | undefined {
  const { external_space_id } = manifest;
  const [first] = unsettled;
  if (first && !canRead) return blockedSpaceError(first, lostPost);
  // A similar space without a source may be this document's own, listed in another spelling.
  if (similar?.source !== undefined && similar.space_id !== undefined && similar.space_id === present?.space_id) {
    return sharedSpaceError(external_space_id, similar);
  }
  const decisive = lines.find(({ kind }) => kind === 'newer' || !(canRead || retryUnknown));
  if (decisive) return unusableLineError(decisive, label, external_space_id);
  const isHidden = !canRead && !retryUnknown && listedSpaceId !== undefined && listedSpaceId !== recalled?.space_id;
  return isHidden ? hiddenAgentsError(external_space_id, listedSpaceId) : undefined;
}

/** What may still appear in a space in which something is missing. Provisioning looks for it before it posts. */
export interface LateEffects {
  /** Of requests whose outcome is unknown. */
  readonly reservations: readonly OpenSpace[];
  /** Of requests that damaged lines of the state file may be about. */
  readonly lines: readonly BlockingLine[];
  /** Agents that exist according to the state file, and that the list lacks. */
  readonly hasRecorded: boolean;
}

/** Finds what may still appear in a space. */
export function findLateEffects(
  { canRead, recalled, unsettled, lines, retryUnknown }: SpaceKnowledge,
  plan: ProvisionPlan,
): LateEffects {
  const missing = plan.agents.filter((agent) => !agent.present);
  return {
    reservations: unsettled,
    lines: retryUnknown ? [] : lines,
    hasRecorded: canRead && isAnyRecorded(missing, recalled),
  };
}

/** Whether all agents that the POST of a reservation installs are among the existing ones of a plan. */
function isCarriedOut({ reservation }: OpenSpace, { agents }: ProvisionPlan): boolean {
  const existing = new Set(
    agents.flatMap(({ wanted, present }) => (present ? agentKeys(wanted.name, wanted.template_id) : [])),
  );
  return reservation.snapshot.agents.every(({ key }) => existing.has(key));
}

/**
 * Why nothing may be posted once nothing more appears: some agents may be the missing ones, the service may take the space
 * for another one, or it accepted a request and does not list what it did.
 * @param lostPost as for `findObstacle`
 */
export function findAmbiguity(
  { manifest, present, similar, recalled, unsettled, retryUnknown }: SpaceKnowledge,
  plan: ProvisionPlan,
  lostPost: OutcomeUnknownError | undefined,
): OutcomeUnknownError | undefined {
  const known = retryUnknown ? undefined : recalled;
  const suspects = findSuspects(unsettled, plan, present, known);
  if (suspects.length > 0) return ambiguousError(suspects);
  if (similar && !present && !retryUnknown) return similarSpaceError(manifest.external_space_id, similar, lostPost);
  const accepted = unsettled.find((open) => open.unknown?.reason === NO_ID && !isCarriedOut(open, plan));
  const spaceId = present?.space_id ?? recalled?.space_id;
  if (accepted) return unlistedSpaceError(accepted, lostPost, spaceId);
  const missing = plan.agents.filter((agent) => !agent.present);
  const isInstalled = present !== undefined && isAnyUnnamed(missing, present, known);
  return isInstalled ? unnamedAgentsError(manifest.external_space_id, present.space_id) : undefined;
}

/**
 * Records the agents of the reservations whose agents are all listed.
 * @returns the other reservations
 */
export async function adoptCarriedOut(
  open: readonly OpenSpace[],
  seen: Pick<SpaceKnowledge, 'manifest' | 'canRead' | 'present'> & { readonly plan: ProvisionPlan },
  history: Pick<ProvisionHistory, 'record'>,
): Promise<readonly OpenSpace[]> {
  const { manifest, canRead, present, plan } = seen;
  if (!canRead || !present) return open;
  const agents = plan.agents.map(({ wanted: { name, template_id }, present: existing }) => ({
    name,
    template_id,
    agent_id: existing?.agent_id ?? null,
    source_id: existing?.source_id ?? null,
  }));
  const carriedOut = open.filter((each) => isCarriedOut(each, plan));
  for (const { reservation } of carriedOut) {
    await history.record({ manifest, spaceId: present.space_id, agents }, reservation);
  }
  return open.filter((each) => !carriedOut.includes(each));
}

/** What may have installed agents in a space. */
export interface Unsettled {
  readonly key: string;
  readonly open: readonly OpenSpace[];
  /** Damaged lines of the state file that may be about the space. */
  readonly lines: readonly BlockingLine[];
}

/**
 * Records that nothing of it was carried out.
 * @param reason how that is known, for the record
 * @throws LocalError if the state file cannot be written
 */
export async function releaseAll(
  { key, open, lines }: Unsettled,
  deps: Pick<OnceDeps<SpaceSnapshot>, 'ledger' | 'newId' | 'clock'>,
  reason: 'not_found' | 'retry_unknown',
): Promise<void> {
  const { ledger } = deps;
  const head = () => ({ ...stampRecord(deps), key });
  for (const { reservation } of open) {
    await ledger.append({ kind: 'released', ...head(), reservation: reservation.id, reason });
  }
  if (lines.length === 0) return;
  await ledger.append({ kind: 'forgotten', ...head(), records: [], lines: lines.map(({ digest }) => digest) });
}
