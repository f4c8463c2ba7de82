import type { Context } from '../cli/context.ts';
import { UsageError } from '../errors.ts';
import type { Column, Tone } from '../output/command-result.ts';
import type { ProposedChange } from './compare-proposals.ts';

/** Where proposed values come from, and the flags of the user. */
export interface Review {
  /** `document` or `trace`, for messages. */
  readonly origin: string;
  readonly yes: boolean;
  /** Whether values may contradict the specification. */
  readonly accept: boolean;
}

const TONES: Readonly<Record<ProposedChange['status'], Tone>> = {
  change: 'good',
  conflict: 'bad',
  overridden: 'warn',
  ambiguous: 'warn',
};

/** The columns of proposed changes. */
export const CHANGE_COLUMNS: readonly Column<ProposedChange>[] = [
  { header: 'LEAF', value: ({ leaf }) => leaf },
  { header: 'OLD', value: ({ old }) => old },
  { header: 'NEW', value: (change) => change.new },
  { header: 'SOURCE', value: ({ old_source }) => old_source, tone: () => 'dim' },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'EVIDENCE', value: ({ evidence }) => evidence, tone: () => 'dim', fit: 'below' },
];

function count(number: number, one: string, several: string): string {
  return `${number} ${number === 1 ? one : several}`;
}

function conflictsIn(changes: readonly ProposedChange[]): readonly ProposedChange[] {
  return changes.filter(({ status }) => status === 'conflict');
}

function conflictError(conflicts: readonly ProposedChange[], { origin }: Review): UsageError {
  const values = count(conflicts.length, `value of the ${origin} contradicts`, `values of the ${origin} contradict`);
  return new UsageError(`${values} the specification. Nothing was written.`, {
    why: conflicts.map(({ leaf, old, new: value }) => `${leaf}: ${old} → ${value}`).join('\n'),
    hint: `If the ${origin} is right, add --accept. To ${origin === 'trace' ? 'learn' : 'import'} only some of its values, add --only <leaf>.`,
    details: { conflicts },
  });
}

/** Returns the changes that can be written: all but the ambiguous ones. */
function writableChanges(changes: readonly ProposedChange[]): readonly ProposedChange[] {
  return changes.filter(({ status }) => status !== 'ambiguous');
}

/**
 * Decides whether to write: --yes, or a yes at the prompt.
 * @throws UsageError for conflicts without --accept
 */
export async function mayWrite(changes: readonly ProposedChange[], review: Review, context: Context): Promise<boolean> {
  const { yes, accept } = review;
  const conflicts = conflictsIn(changes);
  if (yes && conflicts.length > 0 && !accept) throw conflictError(conflicts, review);
  const writable = writableChanges(changes);
  if (yes || writable.length === 0 || !context.isInteractive) return yes;
  for (const { leaf, old, new: value } of writable) await context.notice(`${leaf}: ${old} → ${value}`);
  const contradicting =
    conflicts.length > 0 && !accept
      ? `, of which ${count(conflicts.length, 'contradicts', 'contradict')} the specification`
      : '';
  return context.confirm(`Write ${count(writable.length, 'value', 'values')}${contradicting}?`);
}

/** What was written: the source of the values, and how many the contract had already. */
interface Written {
  readonly source: 'imported' | 'observed';
  readonly unchanged: number;
}

/** Returns the sentences that end a review. @param written undefined if nothing was written */
export function summarizeReview(
  changes: readonly ProposedChange[],
  review: Review,
  written: Written | undefined,
): string {
  const overridden = changes.filter(({ status }) => status === 'overridden').map(({ leaf }) => leaf);
  const summary = summarizeWrite(changes, review, written);
  if (overridden.length === 0) return summary;
  const stays = `${overridden.join(', ')} ${overridden.length === 1 ? 'stays' : 'stay'} as you set ${overridden.length === 1 ? 'it' : 'them'}.`;
  const leaf = overridden.length === 1 ? overridden[0] : '<leaf>';
  return `${summary}\n${stays} To use the ${review.origin}: partnerctl contract unset ${leaf}`;
}

function summarizeWrite(changes: readonly ProposedChange[], { origin }: Review, written: Written | undefined): string {
  const writable = writableChanges(changes);
  if (writable.length === 0) {
    return changes.length === 0
      ? `Nothing to change: the contract agrees with the ${origin}.`
      : `Nothing to write: the ${origin} has several values for each of these leaves.`;
  }
  const values = count(writable.length, 'value', 'values');
  if (written) {
    const { source, unchanged } = written;
    const others =
      unchanged > 0 ? `, and ${unchanged} that ${unchanged === 1 ? 'agrees' : 'agree'} with the contract` : '';
    return `Wrote ${values}${others}. All ${source} values: partnerctl contract show --source ${source}`;
  }
  const conflicts = conflictsIn(changes).length;
  const accept = conflicts > 0 ? `, and --accept for the ${conflicts} that contradict the specification` : '';
  return `Nothing was written. Add --yes to write ${values}${accept}.`;
}
