import type { Difference } from '../domain/provision-plan.ts';
import {
  BalanceError,
  type ErrorObject,
  errorObject,
  InterruptedError,
  LocalError,
  PartialFailure,
  PartnerctlError,
  RunFailure,
} from '../errors.ts';

export type DocumentStatus = 'created' | 'reused' | 'unchanged' | 'planned' | 'failed' | 'skipped';

export interface AgentResult {
  readonly agent_id: string | null;
  readonly name: string;
  readonly template_id: string;
  readonly status: 'created' | 'unchanged' | 'planned' | 'failed' | 'skipped';
  readonly source_id: string | null;
}

/** What became of one document. */
export interface DocumentResult {
  readonly index: number;
  readonly source: string;
  readonly external_space_id: string;
  readonly space_id: string | null;
  readonly status: DocumentStatus;
  readonly agents: readonly AgentResult[];
  /** In a dry run: what would be done. */
  readonly action?: 'create' | 'install';
  readonly differences: readonly Difference[];
  readonly error?: unknown;
}

/** The fixed form in which scripts see a result. */
export function resultJson(result: DocumentResult): object {
  const { index: _, error, action, differences, ...facts } = result;
  return {
    ...facts,
    cron: [],
    ...(action && { action }),
    ...(differences.length > 0 && { differences }),
    ...(error !== undefined && { error: errorObject(error) satisfies ErrorObject }),
  };
}

export type Summary = Record<DocumentStatus, number>;

export function summarise(results: readonly DocumentResult[]): Summary {
  const summary: Summary = { created: 0, reused: 0, unchanged: 0, planned: 0, failed: 0, skipped: 0 };
  for (const { status } of results) summary[status] += 1;
  return summary;
}

/** The summary in words: `2 created, 1 unchanged`. */
export function summaryText(summary: Summary): string {
  const parts = Object.entries(summary).filter(([, count]) => count > 0);
  return `${parts.map(([status, count]) => `${count} ${status}`).join(', ')}.`;
}

const NAMED_FAILURES = 10;

function failureLine({ source, external_space_id, error }: DocumentResult): string {
  const why = error instanceof PartnerctlError ? error.facts.why : undefined;
  const said = why === undefined ? '' : ` ${why.replaceAll('\n', '; ')}`;
  return `${source} (${external_space_id}): ${errorObject(error).message}${said}`;
}

function failureLines(failed: readonly DocumentResult[]): string {
  const lines = failed.slice(0, NAMED_FAILURES).map(failureLine);
  if (failed.length > NAMED_FAILURES) lines.push(`and ${failed.length - NAMED_FAILURES} more`);
  return lines.join('\n');
}

/**
 * How a run ends that did not go through: interrupted; 402, which stops a run; some failed (partial); or all.
 * @param interruption the reason of the interrupt signal, where it was given
 * @returns undefined when every document is as it should be
 */
export function runFailure(results: readonly DocumentResult[], interruption: unknown): PartnerctlError | undefined {
  const summary = summarise(results);
  const failed = results.filter(({ status }) => status === 'failed');
  const text = summaryText(summary);
  if (interruption instanceof InterruptedError && summary.skipped + summary.failed > 0) {
    return new InterruptedError(`Interrupted: ${text}`, interruption.exitCode, {
      hint: 'Run it again to go on: it looks at what is there before it writes.',
    });
  }
  const [first] = failed;
  if (!first) return undefined;
  const broke = failed.find(({ error }) => error instanceof BalanceError)?.error;
  if (broke instanceof BalanceError) return broke;
  const done = summary.created + summary.reused + summary.unchanged + summary.planned;
  if (failed.length === 1 && done + summary.skipped === 0 && first.error instanceof PartnerctlError) return first.error;
  const facts = {
    why: failureLines(failed),
    hint: 'Mend the cause and run it again: what is done stays as it is.',
    details: summary,
  };
  const message = `${failed.length} of ${results.length} documents failed.`;
  if (done > 0) return new PartialFailure(message, facts);
  // Anything but a failure that the program foresees is a mistake of its own, and exits like one.
  const foreseen =
    first.error instanceof PartnerctlError ? first.error : new LocalError(message, { cause: first.error });
  return new RunFailure(message, foreseen, facts);
}
