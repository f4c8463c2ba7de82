import type { Operation } from '../contract/operations.ts';
import { ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';

/** Why a list cannot be read to its end. */
export interface IncompleteList {
  readonly operation: Operation;
  readonly response: ApiResponse;
  readonly message: string;
  /** What speaks of more: where it is and of what type, not its value. */
  readonly seen: string;
  /** The parameters that were tried. */
  readonly tried?: readonly string[];
  /** What to do before the commands that settle how the list continues. */
  readonly hint?: string;
  /** How every page was requested, as a value of the leaf, if the list ends although something speaks of more. */
  readonly strategy?: string;
}

/** Returns the error for a list that cannot be read to its end, with the commands that settle how it continues. */
export function incompleteListError({
  operation,
  response,
  message,
  seen,
  tried = [],
  hint,
  strategy,
}: IncompleteList): ShapeError {
  const leaf = `${operation.leaf}.next`;
  const { status, requestId } = response;
  const attempts = tried.length === 0 ? '' : ` No new items came with ${tried.join(', ')}.`;
  return new ShapeError(message, {
    why: `The service responded with ${status} and announces more with ${seen}.${attempts}`,
    hint: hint === undefined ? fixHint(operation, strategy) : `${hint}\n${fixHint(operation, strategy)}`,
    status,
    requestId,
    details: { operation: operation.name, assumption: 'list.next', leaf, seen, ...(tried.length > 0 && { tried }) },
  });
}

/** The commands that settle how a list continues. @param whole when what was read is all, as a condition */
export function pagingFixes(leaf: string, whole: string): string {
  return [
    'If you know how the next page is requested, run:',
    `partnerctl contract set ${leaf} 'page:<parameter>' (or 'offset:…', 'after:…', 'link:<path>', 'token:<path>:<parameter>')`,
    `If ${whole}, run: partnerctl contract set ${leaf} none`,
  ].join('\n');
}

function fixHint({ leaf }: Operation, strategy: string | undefined): string {
  const next = `${leaf}.next`;
  if (strategy === undefined) {
    return `What was read is not the whole list. ${pagingFixes(next, 'the first page is the whole list')}`;
  }
  return [
    'The list may have changed while it was read: run the command again.',
    `If the service counts more than the items of this list, run: partnerctl contract set ${next} ${strategy}`,
  ].join('\n');
}
