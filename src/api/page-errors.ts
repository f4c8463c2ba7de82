import type { ListLeaf } from '../contract/leaves.ts';
import type { ListOperation } from '../contract/operations.ts';
import { type Extent, formatStep, nextSteps, type ReadPage } from '../contract/paging.ts';
import { ErrorInSuccessBody, NotFoundError, type PartnerctlError, RefusedError, ShapeError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import type { Http } from './http.ts';

/** A list changed between two of its pages, so that an item may have slipped through. */
export class ListChanged extends ShapeError {}

/** The error for a list whose second reading changed, too. */
export function listChanged({ resource, name }: ListOperation, { status, requestId }: ApiResponse): ListChanged {
  return new ListChanged(`The list of ${resource}s changed while it was read, twice.`, {
    why: 'An item may have slipped from one page to another between two requests.',
    hint: 'Run the command again when less is created.',
    ...{ status, requestId },
    details: { operation: name },
  });
}

/** Whether an error says that there is no such page. */
export function isMissing({ info: { status = 0 } }: PartnerctlError): boolean {
  return [404, 410, 416].includes(status);
}

/** Whether the service itself says that it does not know a parameter, or does not have a page. A 5xx never says so. */
export function isRejected(error: PartnerctlError): boolean {
  return (
    !error.info.fromGateway && [RefusedError, NotFoundError, ErrorInSuccessBody].some((each) => error instanceof each)
  );
}

/**
 * Returns the commands that say how a list, or a history, continues.
 * @param next the likeliest value to set
 * @param mayBeAll whether its first page may be all: not if another one had more
 */
export function pagingFixes(list: ListLeaf, next = 'page:<parameter>', mayBeAll = true): string {
  if (next === 'none')
    return `The contract says that the first page is all. To follow what the service announces, run: partnerctl contract set ${list}.next auto`;
  const none = mayBeAll ? `If what was read is all, run: partnerctl contract set ${list}.next none\n` : '';
  return `If you know how the next page is requested, run:
partnerctl contract set ${list}.next '${next}' (or 'offset:<parameter>', 'link:<path>', 'token:<path>:<parameter>')
${none}If the service publishes an OpenAPI document, it says so: partnerctl contract import <address>`;
}

/** Why a list cannot be read to its end. */
export interface Problem {
  readonly message: string;
  /** What speaks of more: where, not its value. */
  readonly signs: readonly string[];
  /** Whether more than the first page was seen, as where another one was read. */
  readonly isMore?: boolean;
}

/** Returns the error for a list that cannot be read to its end. */
export function incompleteList(
  { contract }: Http,
  { operation, extent }: { readonly operation: ListOperation; readonly extent: Extent },
  page: ReadPage & { readonly response: ApiResponse },
  { message, signs, isMore = false }: Problem,
): ShapeError {
  const { leaf } = operation;
  const { call, status, requestId } = page.response;
  const { step } = page.progress;
  const way = contract.next(leaf);
  const [tried = step] = step ? [] : nextSteps(way, page, extent);
  const next =
    way.kind === 'none'
      ? 'none'
      : tried && (step ? formatStep(tried) : formatStep(tried).replace(/[^:]*$/, '<parameter>'));
  const seen = signs.join(', ');
  return new ShapeError(message, {
    why: `The service responded to ${call.name} with ${status} and announces more with ${seen}.`,
    hint: `What was read is not the whole list. If it changed meanwhile, run the command again.\n${pagingFixes(leaf, next, !isMore && step === undefined)}`,
    ...{ status, requestId },
    details: { operation: call.operation.name, leaf: `${leaf}.next`, seen },
  });
}
