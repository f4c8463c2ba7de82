import { UsageError } from '../../../errors.ts';
import type { ContractImport, ProposedChange } from '../../../openapi/import.ts';

/** What asking needs of a command. */
interface QuestionContext {
  readonly isInteractive: boolean;
  notice(text: string): Promise<void>;
  confirm(question: string): Promise<boolean>;
}

function count(number: number, one: string, several: string): string {
  return `${number} ${number === 1 ? one : several}`;
}

function withStatus(changes: readonly ProposedChange[], wanted: ProposedChange['status']): readonly ProposedChange[] {
  return changes.filter(({ status }) => status === wanted);
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
 * Decides whether to write: --yes, or a yes at the prompt, which shows the conflicts.
 * @throws UsageError for conflicts with --yes and without --accept
 */
export async function mayWrite(
  context: QuestionContext,
  { changes }: ContractImport,
  { yes, accept }: { readonly yes: boolean; readonly accept: boolean },
): Promise<boolean> {
  const conflicts = accept ? [] : withStatus(changes, 'conflict');
  if (yes && conflicts.length > 0) throw conflictError(conflicts);
  if (yes || changes.length === 0 || !context.isInteractive) return yes;
  for (const { leaf, old, new: value, status } of changes) {
    const conflict = status === 'conflict' ? ' (contradicts the specification)' : '';
    await context.notice(`${leaf}: ${old} → ${value}${conflict}`);
  }
  const verb = conflicts.length === 1 ? 'contradicts' : 'contradict';
  const contradicting = conflicts.length === 0 ? '' : `, of which ${conflicts.length} ${verb} the specification`;
  return context.confirm(`Write ${count(changes.length, 'value', 'values')}${contradicting}?`);
}

function summarize({ changes, confirmed }: ContractImport, isWritten: boolean): string {
  if (changes.length === 0) return 'Nothing to change: the contract agrees with the document.';
  const values = count(changes.length, 'value', 'values');
  if (!isWritten) {
    const conflicts = withStatus(changes, 'conflict').length;
    const accept = conflicts > 0 ? `, and --accept for the ${conflicts} that contradict the specification` : '';
    return `Nothing was written. Add --yes to write ${values}${accept}.`;
  }
  const unchanged = confirmed.length;
  const others = unchanged > 0 ? `, and ${count(unchanged, 'that agrees', 'that agree')} with the contract` : '';
  return `Wrote ${values}${others}. All imported values: partnerctl contract show --source imported`;
}

/** Says which overrides hide imported values. */
function summarizeOverridden(changes: readonly ProposedChange[]): readonly string[] {
  const leaves = withStatus(changes, 'overridden').map(({ leaf }) => leaf);
  if (leaves.length === 0) return [];
  const stay = leaves.length === 1 ? 'stays as you set it' : 'stay as you set them';
  return [
    `${leaves.join(', ')} ${stay}. To use the document: partnerctl contract unset ${leaves.length === 1 ? leaves[0] : '<leaf>'}`,
  ];
}

/** The notices about an import: what the document leaves open, and what was written. */
export function importNotices(found: ContractImport, isWritten: boolean): readonly string[] {
  const { missing, questions, changes } = found;
  return [
    ...(missing.length > 0 ? [`open: the document has no operation for ${missing.join(', ')}`] : []),
    ...questions.map(({ message }) => `open: ${message}`),
    summarize(found, isWritten),
    ...summarizeOverridden(changes),
  ];
}
