import { type ExitCode, InterruptedError, isBalanceTooLow, PartnerctlError, ShapeError } from '../errors.ts';

/** Ends like the failure behind it, and says in which step of a document it came. */
class StepFailure extends PartnerctlError {
  readonly type: string;
  readonly exitCode: ExitCode;

  constructor(step: string, behind: PartnerctlError) {
    super(`${step}: ${behind.message}`, behind.info);
    this.type = behind.type;
    this.exitCode = behind.exitCode;
  }
}

/** Whether a failure is one of the whole run: nothing more is begun, and it stays what it is. */
export function stopsRun(error: unknown): boolean {
  return isBalanceTooLow(error) || error instanceof InterruptedError;
}

/** A failure, with the step of the document in which it came: `The API chat … is not set up`. */
export function inStep(step: string, error: unknown): unknown {
  return error instanceof PartnerctlError && !stopsRun(error) ? new StepFailure(step, error) : error;
}

/** Nothing further can be done for an agent whose id is not known. @param command that takes an agent by its id */
export function unnamedAgent(spaceId: string, command: string): ShapeError {
  return new ShapeError('the service did not say the agent_id.', {
    hint: `\`partnerctl agents list ${spaceId}\` shows the agents; \`partnerctl ${command}\` takes one of them.`,
    details: { assumption: 'provision.agents' },
  });
}
