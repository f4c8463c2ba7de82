import { OutcomeUnknownError } from '../errors.ts';
import type { OnceDeps } from '../state/once.ts';
import type { PlannedAgent, PresentAgent, PresentSpace, ProvisionPlan } from './plan.ts';
import type { OpenSpace } from './post-once.ts';
import type { SpaceSnapshot } from './space-records.ts';

/*
 * What may still appear at the service: the effect of a POST whose outcome is unknown, or what a list does not show yet.
 */

const MIN_LOOK_MS = 1_000;
const MAX_LOOK_MS = 4_000;

/**
 * Tells how long something may still appear. It counts from when this run first missed it, and only the time that the run
 * slept: a clock that is set forward must not shorten the wait.
 */
export class SettleWindow {
  private readonly settleMs: number;
  private readonly missedSince = new Map<string, number>();
  private sleptMs = 0;

  /** @param settleMs for how long something may appear, in milliseconds */
  constructor(settleMs: number) {
    this.settleMs = settleMs;
  }

  /** Adds to the time slept, in milliseconds. */
  addSleep(ms: number): void {
    this.sleptMs += ms;
  }

  /**
   * Called after a look at the service that did not show these things.
   * @param missing an id for each
   * @returns how many milliseconds to sleep before the next look; 0 if none of them can still appear
   */
  nextLookMs(missing: readonly string[]): number {
    for (const id of missing) if (!this.missedSince.has(id)) this.missedSince.set(id, this.sleptMs);
    const sinceMs = Math.min(...missing.map((id) => this.sleptMs - (this.missedSince.get(id) ?? 0)));
    const leftMs = this.settleMs - sinceMs;
    return leftMs > 0 ? Math.min(leftMs, MAX_LOOK_MS, Math.max(MIN_LOOK_MS, sinceMs)) : 0;
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

/** The error for a space with such agents: only a person can decide. */
export function ambiguousError(suspects: readonly PresentAgent[]): OutcomeUnknownError {
  return new OutcomeUnknownError('Some agents of the space may be the ones that an earlier request installed.', {
    why: suspects.map(({ agent_id, name }) => `${agent_id} ${name ?? ''}`.trim()).join('\n'),
    hint: 'Compare the agents of the space with the manifest. Nothing more is installed, so that no agent is installed twice.\nIf none of them is the missing one, run it again with --retry-unknown.',
    details: { agents: suspects.map(({ agent_id, name }) => ({ agent_id, name })) },
  });
}

/**
 * The error for a space that may have been provisioned, and whose agents cannot be listed.
 * @param lostPost the failure of this run's own POST, if that is what may have been carried out
 */
export function blockedError(
  { reservation }: OpenSpace,
  lostPost: OutcomeUnknownError | undefined,
): OutcomeUnknownError {
  const space = `the space ${JSON.stringify(reservation.snapshot.external_space_id)}`;
  return new OutcomeUnknownError(
    lostPost ? `The outcome of provisioning ${space} is unknown.` : `An earlier run may have provisioned ${space}.`,
    {
      ...lostPost?.info,
      why:
        lostPost?.info.why ??
        `It reserved the space at ${reservation.at}, its outcome is unknown, and the agents cannot be listed.`,
      hint: 'Nothing more is sent, so that no agent is installed twice. Check the agents of the space. If they are missing, run it again with --retry-unknown. With a token that may list spaces and agents, it finds out itself.',
      details: { key: reservation.key, reserved_at: reservation.at },
    },
  );
}

/**
 * Records that the POSTs behind reservations were not carried out.
 * @param reason how that is known, for the record
 * @throws LocalError if the state file cannot be written
 */
export async function releaseAll(
  open: readonly OpenSpace[],
  { ledger, newId, clock }: Pick<OnceDeps<SpaceSnapshot>, 'ledger' | 'newId' | 'clock'>,
  reason: 'not_found' | 'retry_unknown',
): Promise<void> {
  for (const { reservation } of open) {
    const head = { id: newId(), at: new Date(clock.now()).toISOString(), key: reservation.key };
    await ledger.append({ kind: 'released', ...head, reservation: reservation.id, reason });
  }
}
