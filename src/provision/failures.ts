import { stopsRun } from '../api/call-errors.ts';
import {
  InterruptedError,
  OutcomeUnknownError,
  PartnerctlError,
  RunFailure,
  ServiceError,
  ShapeError,
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

/** The failure of a step that needs the id of an agent. @param command the command that performs the step */
export function missingAgentIdError(spaceId: string, command: string): ShapeError {
  return new ShapeError('the service did not return the agent_id.', {
    hint: `Find the agent with: partnerctl agents list ${spaceId}\nThen run: partnerctl ${command}`,
  });
}

/** Names the agents that a failed request was to install, where the space has others: the service counts only those. */
export function namingAgents(error: unknown, missing: readonly string[], all: number): unknown {
  if (missing.length === all || error instanceof OutcomeUnknownError) return error;
  const names = missing.map((name) => JSON.stringify(name)).join(', ');
  return inStep(`${missing.length === 1 ? 'The agent' : 'The agents'} ${names} cannot be installed`, error);
}

/** The failure of a response that came, and that a repeat would get again: a redirect, or one that cannot be read. */
export function unusableResponse(error: unknown): PartnerctlError | undefined {
  const cause = error instanceof OutcomeUnknownError ? error.info.cause : undefined;
  if (!(cause instanceof PartnerctlError)) return undefined;
  const { status = 0 } = cause.info;
  return cause instanceof ShapeError || (status >= 300 && status < 400) ? cause : undefined;
}

/**
 * The final error of a POST that may have been carried out, after the retries. The call is safe to repeat (spec §4.6), so its
 * outcome is no reason to stop: another run reads what exists.
 */
export function lostPostError(error: unknown): unknown {
  if (!(error instanceof OutcomeUnknownError)) return error;
  const unusable = unusableResponse(error);
  if (unusable) return withHint(unusable, { hint: RERUN_HINT });
  const message = 'The service failed, and the space may or may not have been provisioned.';
  return new ServiceError(message, { ...error.info, hint: RERUN_HINT });
}

/** The failure of a read after a POST that may have been carried out. */
export function readAfterLostPostError(error: unknown): unknown {
  if (!(error instanceof PartnerctlError)) return error;
  const lost = 'The response to an earlier request was lost: the space may or may not have been provisioned.';
  return withHint(error, { hint: `${lost} ${RERUN_HINT}`, details: {} });
}

/** The error for agents that were installed, and whose ids are not known. @param reason why not */
export function missingIdsError(spaceId: string, names: readonly string[], reason: PartnerctlError): PartnerctlError {
  const subject = names.length === 1 ? 'the id of the agent' : 'the ids of the agents';
  const list = names.map((name) => JSON.stringify(name)).join(', ');
  const why = [reason.message, reason.info.why].filter((line) => line !== undefined).join('\n');
  const hint = [reason.info.hint, RERUN_HINT].filter((line) => line !== undefined).join('\n');
  return new RunFailure(`The space is provisioned as ${spaceId}, but ${subject} ${list} cannot be read.`, reason, {
    why,
    hint,
  });
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
