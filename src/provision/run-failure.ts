import {
  type ExitCode,
  InterruptedError,
  isBalanceTooLow,
  isStateUnavailable,
  OutcomeUnknownError,
  PartnerctlError,
  RunFailure,
  ShapeError,
  withHint,
} from '../errors.ts';
import { batchFailure } from '../output/batch-failure.ts';
import { formatCounts } from '../output/batch-result.ts';
import { countDocuments, type DocumentResult } from './document-result.ts';

/** An error with the type and exit code of its cause, whose message names the step of the document that failed. */
class StepFailure extends PartnerctlError {
  readonly type: string;
  readonly exitCode: ExitCode;

  constructor(step: string, cause: PartnerctlError) {
    super(`${step}: ${cause.message}`, cause.info);
    this.type = cause.type;
    this.exitCode = cause.exitCode;
  }
}

/** Whether a failure ends the whole run: nothing more is started. */
export function stopsProvisioning(error: unknown): boolean {
  return isBalanceTooLow(error) || isStateUnavailable(error) || error instanceof InterruptedError;
}

/** Prefixes a failure with its step (`The API chat … is not set up`), unless it stops the run. */
export function inStep(step: string, error: unknown): unknown {
  return error instanceof PartnerctlError && !stopsProvisioning(error) ? new StepFailure(step, error) : error;
}

/** The failure of a step that needs the id of an agent. @param command the command that performs the step */
export function missingAgentIdError(spaceId: string, command: string): ShapeError {
  return new ShapeError('the service did not return the agent_id.', {
    hint: `Find the agent with: partnerctl agents list ${spaceId}\nThen run: partnerctl ${command}`,
    details: { assumption: 'provision.agents' },
  });
}

/**
 * Combines the failures of one document's jobs into one error. Its type and exit code are those of a job that may have
 * been created, because its name stays blocked until it is reconciled; else of a failure that stops the run; else of the
 * first failure.
 * @returns undefined if there are none
 */
export function failedJobsError(errors: readonly unknown[], jobCount: number): unknown {
  const unknownOutcome = errors.find((error) => error instanceof OutcomeUnknownError);
  const stop = errors.find(stopsProvisioning);
  const decisive = unknownOutcome ?? stop ?? errors[0];
  if (errors.length < 2 || decisive === stop || !(decisive instanceof PartnerctlError)) return decisive;
  const why = errors.map((error) => (error instanceof Error ? error.message : String(error))).join('\n');
  const message = `${errors.length} of ${jobCount} cron jobs failed.`;
  return unknownOutcome
    ? new OutcomeUnknownError(message, { ...unknownOutcome.info, why })
    : new RunFailure(message, decisive, { why });
}

/**
 * The error of a run in which some documents failed or were skipped.
 * @param interruption the reason of the interrupt signal, if it fired
 * @returns undefined if no document failed or was skipped
 */
export function runFailure(results: readonly DocumentResult[], interruption: unknown): PartnerctlError | undefined {
  const summary = countDocuments(results);
  const items = results.map(({ source, external_space_id, status, error }) => ({
    label: `${source} (${external_space_id})`,
    outcome: status === 'failed' || status === 'skipped' ? status : ('done' as const),
    error,
  }));
  const messages = {
    noun: 'documents',
    summary: formatCounts(summary),
    details: summary,
    resumeHint: 'Run it again to continue: it reads what exists before it writes.',
    fixHint: 'Fix the cause and run it again: finished documents are not changed.',
  };
  return batchFailure(items, messages, interruption);
}

/**
 * The error of a run that found nothing to do, and whose only answer from the service was that it rejects the token.
 * @param rejection the rejection (401) of the list of spaces
 */
export function untestedTokenError(rejection: PartnerctlError): PartnerctlError {
  const hint =
    'Nothing was changed: the state knows all spaces and agents. If the token is valid and only may not list spaces, go on without the list: partnerctl contract set spaces.list none';
  return withHint(rejection, { hint, details: {} });
}
