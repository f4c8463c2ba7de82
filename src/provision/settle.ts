import type { OnceDeps } from '../state/once.ts';
import type { UnreadableLine } from '../state/unreadable.ts';
import type { PlannedAgent, PresentAgent, PresentSpace, ProvisionPlan } from './plan.ts';
import type { OpenSpace } from './post-once.ts';
import type { SpaceSnapshot } from './space-records.ts';

/*
 * What may still appear at the service: the effect of a POST whose outcome is unknown, or what a list does not show yet.
 */

const MIN_LOOK_MS = 1_000;
const MAX_LOOK_MS = 4_000;

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
   * Called after a look at the service that did not show these things.
   * @param missing for the id of each, when it was certain that nothing more is sent to bring it about
   * @param lookedAt when the look began
   * @returns how many milliseconds to sleep before the next look; 0 if none of them can still appear
   */
  nextLookMs(missing: ReadonlyMap<string, number>, lookedAt: number): number {
    let leftMs = 0;
    let sinceMs = MAX_LOOK_MS;
    for (const [id, quietFrom] of missing) {
      const missedAt = this.missedSince.get(id) ?? lookedAt;
      this.missedSince.set(id, missedAt);
      leftMs = Math.max(leftMs, Math.max(missedAt, quietFrom) + this.settleMs - lookedAt);
      sinceMs = Math.min(sinceMs, lookedAt - missedAt);
    }
    return Math.min(leftMs, MAX_LOOK_MS, Math.max(MIN_LOOK_MS, sinceMs));
  }
}

/** Whether one of these missing agents exists according to the records. */
export function lacksRecorded(missing: readonly PlannedAgent[], recorded: PresentSpace | undefined): boolean {
  return missing.some(({ wanted }) =>
    recorded?.agents.some(({ name, template_id }) => name === wanted.name && template_id === wanted.template_id),
  );
}

/**
 * The agents that may be the missing ones under other names, because the service may rename what a POST installs.
 * @param open the reservations whose POST may have installed agents
 * @param known the space according to the records
 */
export function findSuspects(
  open: readonly OpenSpace[],
  plan: ProvisionPlan,
  present: PresentSpace | undefined,
  known: PresentSpace | undefined,
): readonly PresentAgent[] {
  const paired = new Set(plan.agents.flatMap((agent) => agent.present?.agent_id ?? []));
  const missing = plan.agents.filter((agent) => !agent.present);
  // An earlier run may have installed them without learning their ids.
  const unnamed = known && { ...known, agents: known.agents.filter(({ agent_id }) => agent_id === undefined) };
  const isUnnamed = known?.space_id === present?.space_id && lacksRecorded(missing, unnamed);
  return (present?.agents ?? []).filter(({ agent_id }) => {
    if (agent_id === undefined || paired.has(agent_id)) return false;
    return isUnnamed || open.some(({ reservation }) => !reservation.remoteIdsSeen?.includes(agent_id));
  });
}

/** What may have installed agents in a space. */
export interface Unsettled {
  readonly key: string;
  readonly open: readonly OpenSpace[];
  /** Damaged lines of the state file that may be about the space. */
  readonly lines: readonly UnreadableLine[];
}

/**
 * Records that nothing of it was carried out.
 * @param reason how that is known, for the record
 * @throws LocalError if the state file cannot be written
 */
export async function releaseAll(
  { key, open, lines }: Unsettled,
  { ledger, newId, clock }: Pick<OnceDeps<SpaceSnapshot>, 'ledger' | 'newId' | 'clock'>,
  reason: 'not_found' | 'retry_unknown',
): Promise<void> {
  const head = () => ({ id: newId(), at: new Date(clock.now()).toISOString(), key });
  for (const { reservation } of open) {
    await ledger.append({ kind: 'released', ...head(), reservation: reservation.id, reason });
  }
  if (lines.length === 0) return;
  await ledger.append({ kind: 'forgotten', ...head(), records: [], lines: lines.map(({ digest }) => digest) });
}
