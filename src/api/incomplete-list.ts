import { ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { ListOperation } from './pages.ts';

/** Why a list cannot be read to its end. */
export interface IncompleteList {
  readonly message: string;
  readonly operation: ListOperation;
  readonly response: ApiResponse;
  /** What speaks of more: where it is, not its value. */
  readonly seen: string;
  /** The parameters that were tried. */
  readonly tried?: readonly string[];
  /** A value of `<list>.next` to set, with `<parameter>` for what the operator must fill in. */
  readonly next?: string | undefined;
  /** Whether several pages were read in the way of `next`. */
  readonly isRead?: boolean;
}

/** Returns the error for a list that cannot be read to its end, with the commands that say how it continues. */
export function incompleteListError(incomplete: IncompleteList): ShapeError {
  const { message, operation, response, seen, tried = [], next, isRead = false } = incomplete;
  const { call, status, requestId } = response;
  const attempts = tried.length === 0 ? '' : ` No new items came with ${tried.join(', ')}.`;
  const leaf = `${operation.leaf}.next`;
  return new ShapeError(message, {
    why: `The service responded to ${call.name} with ${status} and announces more with ${seen}.${attempts}`,
    hint: isRead
      ? `The list may have changed while it was read: run the command again.\nIf the service counts more than the items of this list, run: partnerctl contract set ${leaf} '${next}'`
      : `What was read is not the whole list. ${pagingFixes(leaf, 'the first page is the whole list', next)}`,
    status,
    requestId,
    details: { operation: operation.name, leaf, seen, ...(tried.length > 0 && { tried }) },
  });
}

const FORMS = [
  'page:<parameter>',
  'offset:<parameter>',
  'after:<parameter>',
  'link:<path>',
  'token:<path>:<parameter>',
];

/**
 * Returns the commands that say how a list, or a history, continues.
 * @param whole when what was read is all, as a condition
 * @param next the likeliest value to set
 */
export function pagingFixes(leaf: string, whole: string, next = 'page:<parameter>'): string {
  const others = FORMS.filter((form) => form !== next).map((form) => `'${form}'`);
  return `If you know how the next page is requested, run:
partnerctl contract set ${leaf} '${next}' (or ${others.join(', ')})
If ${whole}, run: partnerctl contract set ${leaf} none`;
}
