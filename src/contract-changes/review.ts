import type { Context } from '../cli/context.ts';
import { UsageError } from '../errors.ts';
import type { Column, Tone } from '../output/command-result.ts';
import type { ProposedChange } from './compare-proposals.ts';

/** The flags of the user. */
export interface Review {
  readonly yes: boolean;
  /** Whether values may contradict the specification. */
  readonly accept: boolean;
}

const TONES: Readonly<Record<ProposedChange['status'], Tone>> = {
  change: 'good',
  conflict: 'bad',
  overridden: 'warn',
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

function conflictError(conflicts: readonly ProposedChange[]): UsageError {
  const values = count(conflicts.length, 'value of the document contradicts', 'values of the document contradict');
  return new UsageError(`${values} the specification. Nothing was written.`, {
    why: conflicts.map(({ leaf, old, new: value }) => `${leaf}: ${old} → ${value}`).join('\n'),
    hint: 'If the document is right, add --accept. To import only some of its values, add --only <leaf>.',
    details: { conflicts },
  });
}

/**
 * Decides whether to write: --yes, or a yes at the prompt.
 * @throws UsageError for conflicts without --accept
 */
export async function mayWrite(changes: readonly ProposedChange[], review: Review, context: Context): Promise<boolean> {
  const { yes, accept } = review;
  const conflicts = conflictsIn(changes);
  if (yes && conflicts.length > 0 && !accept) throw conflictError(conflicts);
  if (yes || changes.length === 0 || !context.isInteractive) return yes;
  for (const { leaf, old, new: value } of changes) await context.notice(`${leaf}: ${old} → ${value}`);
  const contradicting =
    conflicts.length > 0 && !accept
      ? `, of which ${count(conflicts.length, 'contradicts', 'contradict')} the specification`
      : '';
  return context.confirm(`Write ${count(changes.length, 'value', 'values')}${contradicting}?`);
}

/**
 * Returns the sentences that end a review.
 * @param unchanged how many of the written values the contract had already; undefined if nothing was written
 */
export function summarizeReview(changes: readonly ProposedChange[], unchanged: number | undefined): string {
  const overridden = changes.filter(({ status }) => status === 'overridden').map(({ leaf }) => leaf);
  const summary = summarizeWrite(changes, unchanged);
  if (overridden.length === 0) return summary;
  const stays = `${overridden.join(', ')} ${overridden.length === 1 ? 'stays' : 'stay'} as you set ${overridden.length === 1 ? 'it' : 'them'}.`;
  const leaf = overridden.length === 1 ? overridden[0] : '<leaf>';
  return `${summary}\n${stays} To use the document: partnerctl contract unset ${leaf}`;
}

function summarizeWrite(changes: readonly ProposedChange[], unchanged: number | undefined): string {
  if (changes.length === 0) return 'Nothing to change: the contract agrees with the document.';
  const values = count(changes.length, 'value', 'values');
  if (unchanged !== undefined) {
    const others =
      unchanged > 0 ? `, and ${unchanged} that ${unchanged === 1 ? 'agrees' : 'agree'} with the contract` : '';
    return `Wrote ${values}${others}. All imported values: partnerctl contract show --source imported`;
  }
  const conflicts = conflictsIn(changes).length;
  const accept = conflicts > 0 ? `, and --accept for the ${conflicts} that contradict the specification` : '';
  return `Nothing was written. Add --yes to write ${values}${accept}.`;
}
