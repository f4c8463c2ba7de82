import type { Operation } from '../contract/operations.ts';
import { ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';

/** Why a list cannot be read to its end. */
interface IncompleteList {
  readonly operation: Operation;
  readonly response: ApiResponse;
  readonly message: string;
  /** What speaks of more: where it is, not its value. */
  readonly seen: string;
  /** The parameters that were tried. */
  readonly tried?: readonly string[];
  /** What to do before the commands that settle how the list continues. */
  readonly hint?: string;
  /** A value of `<list>.next` to set, with `<parameter>` for what the operator must fill in. */
  readonly next?: string;
  /** Whether every page was read in that way, so that setting it says where the list ends. */
  readonly isRead?: boolean;
}

/** Returns the error for a list that cannot be read to its end, with the commands that settle how it continues. */
export function incompleteListError(list: IncompleteList): ShapeError {
  const { operation, response, message, seen, tried = [], hint, next, isRead = false } = list;
  const leaf = `${operation.leaf}.next`;
  const { status, requestId } = response;
  const attempts = tried.length === 0 ? '' : ` No new items came with ${tried.join(', ')}.`;
  const fix = isRead
    ? `If the service counts more than the items of this list, run: partnerctl contract set ${leaf} '${next}'`
    : `What was read is not the whole list. ${pagingFixes(leaf, 'the first page is the whole list', next)}`;
  return new ShapeError(message, {
    why: `The service responded with ${status} and announces more with ${seen}.${attempts}`,
    hint: hint === undefined ? fix : `${hint}\n${fix}`,
    status,
    requestId,
    details: { operation: operation.name, assumption: 'list.next', leaf, seen, ...(tried.length > 0 && { tried }) },
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
 * Returns the commands that settle how a list continues.
 * @param whole when what was read is all, as a condition
 * @param next the likeliest value to set
 */
function pagingFixes(leaf: string, whole: string, next = 'page:<parameter>'): string {
  const others = FORMS.filter((form) => form !== next).map((form) => `'${form}'`);
  return [
    'If you know how the next page is requested, run:',
    `partnerctl contract set ${leaf} '${next}' (or ${others.join(', ')})`,
    `If ${whole}, run: partnerctl contract set ${leaf} none`,
  ].join('\n');
}

/** Returns the warning for a list that may go on, where the service does not let the tool find out. */
export function partialWarning(
  list: { readonly resource: string; readonly operation: Operation },
  items: number,
): string {
  const { resource, operation } = list;
  const fix = `If it is whole, run: partnerctl contract set ${operation.leaf}.next none`;
  return `The list of ${resource} has ${items} items and may not be whole: nothing in it speaks of pages. ${fix}`;
}
