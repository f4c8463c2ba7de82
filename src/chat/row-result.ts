import { PartnerctlError, RunFailure } from '../errors.ts';
import { type BatchItem, batchFailure } from '../output/batch-failure.ts';
import { formatCounts } from '../output/batch-result.ts';
import { failedItem } from '../output/ci/findings.ts';
import type { CiView, Column } from '../output/command-result.ts';
import { toErrorObject } from '../output/error-object.ts';
import { withReason } from '../output/sentences.ts';

/** The result of one row. */
export interface RowResult {
  /** Its line in the input, from 1. */
  readonly line: number;
  readonly source_id: string;
  readonly session_id: string;
  readonly external_message_id: string;
  /** Null if the message is not sent, or if neither the response nor the history has it. */
  readonly message_id: string | null;
  /** Whether this run registered it; undefined if it sent nothing, or if the response does not say. */
  readonly created: boolean | undefined;
  /**
   * `skipped`: an earlier run sent it. `unknown`: Ctrl-C ended the call, so it may have been sent; a repeat is safe.
   * `not_sent`: it was not tried.
   */
  readonly status: 'sent' | 'skipped' | 'planned' | 'failed' | 'unknown' | 'not_sent';
  readonly error: unknown;
}

/** A result as `chat send -f … -o json` prints it. */
export function rowResultJson({ created, error, ...result }: RowResult): object {
  return { ...result, created: created ?? null, error: error === undefined ? null : toErrorObject(error) };
}

/** What a CI system shows of the rows of a file: never their text. @param name the file */
export function ciView(name: string): CiView<RowResult> {
  return { findings: ({ line, error }) => failedItem(error, `${name}:${line}`, true) };
}

const TONES = {
  sent: 'good',
  skipped: 'dim',
  planned: 'warn',
  failed: 'bad',
  unknown: 'warn',
  not_sent: 'warn',
} as const;

function noteOf({ error }: RowResult): string | undefined {
  if (error === undefined) return undefined;
  const why = error instanceof PartnerctlError ? error.info.why : undefined;
  return withReason(toErrorObject(error).message, why);
}

export const ROW_COLUMNS: readonly Column<RowResult>[] = [
  { header: 'LINE', value: ({ line }) => line },
  { header: 'STATUS', value: ({ status }) => status.replace('_', ' '), tone: ({ status }) => TONES[status] },
  { header: 'SESSION', value: ({ session_id }) => session_id },
  { header: 'MESSAGE', value: ({ message_id }) => message_id, fit: 'middle' },
  { header: 'EXTERNAL ID', value: ({ external_message_id }) => external_message_id, fit: 'middle', tone: () => 'dim' },
  { header: 'SOURCE', value: ({ source_id }) => source_id, fit: 'middle', isOptional: true, tone: () => 'dim' },
  { header: 'NOTE', value: noteOf, fit: 'below' },
];

/** Failures of which each one is kept; of the others, only those that differ. */
const KEPT_FAILURES = 10;

/**
 * Counts the results of a run. Keeps a reference for each failed row, but the errors of few of them, and nothing of any
 * other row.
 */
export class RowTally {
  private readonly input: { readonly name: string; readonly total: number };
  private readonly counts = { sent: 0, skipped: 0, planned: 0, failed: 0, unknown: 0, not_sent: 0 };
  private readonly failed: BatchItem[] = [];
  /** One failure of each kind. */
  private readonly kinds = new Map<string, BatchItem>();
  /** How many messages have no known message_id. */
  unidentified = 0;

  /** @param input its name, for messages, and the number of its rows */
  constructor(input: { readonly name: string; readonly total: number }) {
    this.input = input;
  }

  add({ line, status, error, message_id }: RowResult): void {
    this.counts[status] += 1;
    if (status === 'sent' && message_id === null) this.unidentified += 1;
    if (status === 'failed') this.addFailure(line, error);
  }

  /** The results in one sentence: `2 sent, 1 failed.` */
  summary(): string {
    const { not_sent, ...counts } = this.counts;
    return formatCounts({ ...counts, 'not sent': not_sent });
  }

  /**
   * The error of a command that did not send all of its rows.
   * @param interruption the reason of the interrupt signal, if there was one
   */
  failure(interruption: unknown): PartnerctlError | undefined {
    const { sent, skipped, failed, unknown, not_sent } = this.counts;
    const left = failed + unknown + not_sent;
    const again = 'Run the same command again: it sends only what is left.';
    const count = left === 1 ? '1 message is left.' : `${left} messages are left.`;
    const messages = {
      noun: 'messages',
      message: `Not all messages were sent: ${this.summary()}`,
      summary: this.summary(),
      details: { sent, skipped, failed, unknown, not_sent },
      resumeHint: `${count} ${again}`,
      fixHint: `${count} Fix the cause. ${again}`,
    };
    const error = batchFailure(this.items(), messages, interruption);
    const isOwn = this.failed.some((item) => item.error === error);
    if (!error || !isOwn || left === 1) return error;
    return new RunFailure(error.message, error, {
      hint: [error.info.hint, messages.fixHint].filter(Boolean).join('\n'),
      details: messages.details,
    });
  }

  private addFailure(line: number, error: unknown): void {
    const { hint, retryAt } = error instanceof PartnerctlError ? error.info : {};
    const kind = JSON.stringify([error instanceof PartnerctlError ? error.type : null, hint, retryAt]);
    const item = { label: `${this.input.name}:${line}`, outcome: 'failed', error: this.atLine(line, error) } as const;
    const same = this.kinds.get(kind);
    if (!same) this.kinds.set(kind, item);
    this.failed.push(this.failed.length < KEPT_FAILURES ? item : (same ?? item));
  }

  /** An error that names the row, if there are others. */
  private atLine(line: number, error: unknown): unknown {
    if (this.input.total === 1 || !(error instanceof PartnerctlError)) return error;
    return new RunFailure(`${this.input.name}:${line}: ${error.message}`, error, {});
  }

  /** The failures, and one item for all the rows of each other outcome. */
  private items(): readonly BatchItem[] {
    const { sent, skipped, planned, unknown, not_sent } = this.counts;
    const others: readonly (BatchItem & { readonly count: number })[] = [
      { label: '', outcome: 'done', count: sent + skipped + planned },
      { label: '', outcome: 'skipped', count: unknown + not_sent },
    ];
    return [...this.failed, ...others.filter(({ count }) => count > 0)];
  }
}
