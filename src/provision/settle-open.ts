import { OutcomeUnknownError } from '../errors.ts';
import type { PresentSpace, ProvisionPlan } from './plan.ts';
import type { OpenSpace, SpaceState } from './post-once.ts';
import type { Run } from './provision-run.ts';

const MIN_LOOK_MS = 1_000;
const MAX_LOOK_MS = 4_000;

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
 * @param open the reservations whose POST may have installed agents
 * @throws OutcomeUnknownError
 */
function refuseAmbiguousAgents(
  { deps, document }: Run,
  open: readonly OpenSpace[],
  plan: ProvisionPlan,
  present: PresentSpace | undefined,
): void {
  const known = deps.history.recall(document.manifest);
  const paired = new Set(plan.agents.flatMap((agent) => agent.present?.agent_id ?? []));
  const unpaired = (present?.agents ?? []).flatMap(({ agent_id, name }) =>
    agent_id === undefined || paired.has(agent_id) ? [] : [{ agent_id, name }],
  );
  const isUnnamed = !deps.retryUnknown && known?.space_id === present?.space_id && wasInstalledUnnamed(known, plan);
  const suspects = unpaired.filter(
    ({ agent_id }) => isUnnamed || open.some(({ reservation }) => !reservation.remoteIdsSeen?.includes(agent_id)),
  );
  if (suspects.length === 0) return;
  throw new OutcomeUnknownError('Some agents of the space may be the ones that an earlier request installed.', {
    why: suspects.map(({ agent_id, name }) => `${agent_id} ${name ?? ''}`.trim()).join('\n'),
    hint: 'Compare the agents of the space with the manifest. Nothing more is installed, so that no agent is installed twice.\nIf none of them is the missing one, run it again with --retry-unknown.',
    details: { agents: suspects },
  });
}

/** The error for a space that may have been provisioned, and whose agents cannot be listed. */
function blockedError({ lostPost, document }: Run, { reservation }: OpenSpace): OutcomeUnknownError {
  const space = `the space ${JSON.stringify(document.manifest.external_space_id)}`;
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
 * Decides what the POSTs behind open reservations did, now that a read did not show all agents.
 * @returns how many milliseconds to wait before the next read, because they may still be carried out; 0 once it is
 *   recorded that they were not
 * @throws OutcomeUnknownError if only a person can tell; the failure of this run's own POST if it was not carried out
 */
export async function settleOpen(
  run: Run,
  { open }: SpaceState,
  plan: ProvisionPlan,
  present: PresentSpace | undefined,
): Promise<number> {
  const { once, clock, retryUnknown, settleMs } = run.deps;
  const unsettled = open.filter(({ reservation }) => !retryUnknown || run.ownRecords.has(reservation.id));
  const [first] = unsettled;
  if (first && !run.canRead) throw blockedError(run, first);
  const sinceMs = Math.min(
    ...unsettled.map(({ reservation }) => run.sleptMs - (run.firstSeen.get(reservation.id) ?? 0)),
  );
  const leftMs = settleMs - sinceMs;
  if (leftMs > 0) return Math.min(leftMs, MAX_LOOK_MS, Math.max(MIN_LOOK_MS, sinceMs));
  refuseAmbiguousAgents(run, unsettled, plan, present);
  for (const { reservation } of open) {
    const head = { id: once.newId(), at: new Date(clock.now()).toISOString(), key: run.key };
    const reason = retryUnknown ? 'retry_unknown' : 'not_found';
    await once.ledger.append({ kind: 'released', ...head, reservation: reservation.id, reason });
  }
  const { lostPost } = run;
  if (!lostPost) return 0;
  run.lostPost = undefined;
  run.settledPost = lostPost;
  throw lostPost;
}
