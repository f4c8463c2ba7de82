import type { ProvisionResponse } from '../contract/resources.ts';
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

/** Why something of a document is not sent, or failed. */
export interface Failure {
  readonly error: unknown;
  /** File and line of what it is about. */
  readonly source: string;
}

const RERUN_HINT = 'Run it again: it reads what exists before it writes.';
const LOST = 'The space may or may not have been provisioned.';

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
 * The final error of the POST, or of the read after one that may have been carried out: it is safe to repeat (spec
 * §4.6), and thus its outcome is no reason to stop.
 */
export function lostPostError(error: unknown): unknown {
  if (!(error instanceof PartnerctlError)) return error;
  const failure = unusableResponse(error) ?? error;
  if (!(failure instanceof OutcomeUnknownError)) return withHint(failure, { hint: `${LOST} ${RERUN_HINT}` });
  return new ServiceError(`The service failed. ${LOST}`, { ...failure.info, hint: RERUN_HINT });
}

/** The error for agents that were installed, and whose ids neither the response nor the list shows. */
export function missingIdsError({ unreadable }: ProvisionResponse, names: readonly string[]): ShapeError {
  const list = names.map((name) => JSON.stringify(name)).join(', ');
  const fix = unreadable?.fix && describeFix(unreadable.fix);
  return new ShapeError(`Installed, but neither the response nor the list of agents has the ids of: ${list}`, {
    why: unreadable && `${unreadable.message} The response lists ${unreadable.seen}.`,
    hint: fix ? `${fix}\n${RERUN_HINT}` : RERUN_HINT,
  });
}

/** The error for a space that was provisioned without a record of it. */
export function unrecordedSpaceError(spaceId: string, error: unknown): unknown {
  if (!(error instanceof PartnerctlError)) return error;
  return new RunFailure(`The space is provisioned as ${spaceId}, but the state cannot be written.`, error, {
    why: [error.message, error.info.why].filter((line) => line !== undefined).join('\n'),
    hint: 'Run it again when the state can be written: nothing is installed twice where agents can be listed.',
  });
}
