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
  /** A value of `<list>.next` to set, with `<parameter>` for what the operator must fill in. */
  readonly next?: string | undefined;
}

/** Returns the error for a list that cannot be read to its end, with the commands that say how it continues. */
export function incompleteListError({ message, operation, response, seen, next }: IncompleteList): ShapeError {
  const { call, status, requestId } = response;
  const leaf = `${operation.leaf}.next`;
  return new ShapeError(message, {
    why: `The service responded to ${call.name} with ${status} and announces more with ${seen}.`,
    hint: `What was read is not the whole list. If it changed meanwhile, run the command again.\n${pagingFixes(leaf, next)}`,
    status,
    requestId,
    details: { operation: operation.name, leaf, seen },
  });
}

/** Returns the commands that say how a list, or a history, continues. @param next the likeliest value to set */
export function pagingFixes(leaf: string, next = 'page:<parameter>'): string {
  return `If you know how the next page is requested, run:
partnerctl contract set ${leaf} '${next}' (or 'offset:<parameter>', 'link:<path>', 'token:<path>:<parameter>')
If what was read is all, run: partnerctl contract set ${leaf} none`;
}
