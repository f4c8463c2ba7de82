import type { ProvisionResponse } from '../contract/provisioning.ts';
import { describeFix } from '../contract/unknown-shape.ts';
import {
  InterruptedError,
  OutcomeUnknownError,
  PartnerctlError,
  RunFailure,
  ServiceError,
  ShapeError,
  stopsRun,
  withHint,
} from '../errors.ts';

const RERUN_HINT = 'Run it again: it reads what exists before it writes.';

/** Whether a failure ends the whole run: every further call would fail the same way, or the user interrupted it. */
export function stopsProvisioning(error: unknown): boolean {
  return stopsRun(error) || error instanceof InterruptedError;
}

/** Prefixes a failure with its step (`The API chat … is not set up`), unless it ends the run. */
export function inStep(step: string, error: unknown): unknown {
  if (!(error instanceof PartnerctlError) || stopsProvisioning(error)) return error;
  return new RunFailure(`${step}: ${error.message}`, error, {});
}

/** The failure of a response that a repeat would get again: a redirect, or one that cannot be read. */
export function unusableResponse(error: unknown): PartnerctlError | undefined {
  const cause = error instanceof OutcomeUnknownError ? error.info.cause : undefined;
  if (!(cause instanceof PartnerctlError)) return undefined;
  const { status = 0 } = cause.info;
  return cause instanceof ShapeError || (status >= 300 && status < 400) ? cause : undefined;
}

/**
 * The final error of the POST. One that may have been carried out is safe to repeat (spec §4.6), so its outcome is no reason
 * to stop: another run reads what exists.
 * @param missing the names of the agents in the request, where the space has others: the service counts only those
 */
export function postError(error: unknown, missing: readonly string[]): unknown {
  if (error instanceof OutcomeUnknownError) {
    const unusable = unusableResponse(error);
    if (unusable) return withHint(unusable, { hint: RERUN_HINT });
    const message = 'The service failed, and the space may or may not have been provisioned.';
    return new ServiceError(message, { ...error.info, hint: RERUN_HINT });
  }
  if (missing.length === 0) return error;
  const names = missing.map((name) => JSON.stringify(name)).join(', ');
  return inStep(`${missing.length === 1 ? 'The agent' : 'The agents'} ${names} cannot be installed`, error);
}

/** The failure of a read after a POST that may have been carried out. */
export function readAfterLostPostError(error: unknown): unknown {
  if (!(error instanceof PartnerctlError)) return error;
  const lost = 'The response to an earlier request was lost: the space may or may not have been provisioned.';
  return withHint(error, { hint: `${lost} ${RERUN_HINT}` });
}

/**
 * The error for agents that were installed, and whose ids neither the response nor the list shows.
 * @param reason why the list cannot be read
 */
export function missingIdsError(
  { space_id, unreadable }: ProvisionResponse,
  names: readonly string[],
  reason?: PartnerctlError,
): PartnerctlError {
  const subject = names.length === 1 ? 'the id of the agent' : 'the ids of the agents';
  const list = names.map((name) => JSON.stringify(name)).join(', ');
  const shape = unreadable
    ? new ShapeError(`${unreadable.message} The response lists ${unreadable.seen}.`, {
        hint: unreadable.fix && describeFix(unreadable.fix),
      })
    : new ShapeError('Neither the response nor the list of agents has them.');
  const { message, info } = reason ?? shape;
  return new RunFailure(
    `The space is provisioned as ${space_id}, but ${subject} ${list} cannot be read.`,
    reason ?? shape,
    {
      why: [message, info.why].filter((line) => line !== undefined).join('\n'),
      hint: [info.hint, RERUN_HINT].filter((line) => line !== undefined).join('\n'),
    },
  );
}

/** The error for agents that were installed in another space than the known one. */
export function otherSpaceError(externalId: string, known: string, spaceId: string): ServiceError {
  const id = JSON.stringify(externalId);
  return new ServiceError(`The service provisioned ${id} as ${spaceId}; until now, it was ${known}.`, {
    hint: `Compare the two spaces: partnerctl spaces list\nIf ${spaceId} is the right one, run it again: it installs the other agents there.`,
    details: { space_id: spaceId, known_space_id: known },
  });
}

/** The error for a space that was provisioned without a record of it. */
export function unrecordedError(spaceId: string, error: unknown): unknown {
  if (!(error instanceof PartnerctlError)) return error;
  return new RunFailure(`The space is provisioned as ${spaceId}, but the state cannot be written.`, error, {
    why: [error.message, error.info.why].filter((line) => line !== undefined).join('\n'),
    hint: 'Run it again when the state can be written: nothing is installed twice where agents can be listed.',
    details: { space_id: spaceId },
  });
}
