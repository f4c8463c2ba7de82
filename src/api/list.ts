import type { Contract } from '../contract/contract.ts';
import { Fields } from '../contract/fields.ts';
import { type JsonObject, jsonText } from '../contract/json.ts';
import type { ListOperation, Operation } from '../contract/operations.ts';
import { describeFix, UnknownShape } from '../contract/unknown-shape.ts';
import {
  EmptyResponseError,
  InterruptedError,
  isTokenRejected,
  NoOperationError,
  PartnerctlError,
  RunFailure,
  ServiceError,
  ShapeError,
} from '../errors.ts';
import { Paged } from '../platform/paged.ts';
import type { CallOptions } from './call.ts';
import type { Http } from './http.ts';
import type { PagedList } from './list-end.ts';
import { pagingFixes } from './page-errors.ts';
import { type Page, readPages } from './pages.ts';

/** To act on a list takes a whole one. To show it, a warning does where its end cannot be proved. */
export type Purpose = 'act' | 'show';

export interface ListOptions extends CallOptions {
  readonly purpose: Purpose;
}

/**
 * Lists every item as the service sends it, even if only its id can be read. Holds two pages in memory at most. Reading it
 * throws ShapeError for a list that cannot be read to its end; no page is yielded before it is known how the list continues.
 */
export function listItems(
  http: Http,
  operation: ListOperation,
  { purpose, ...options }: ListOptions,
): Paged<JsonObject> {
  const { leaf, resource } = operation;
  const onUnproved = (count: number) => {
    const text = `The list of ${resource}s has ${count} items and may not be whole: nothing in it speaks of pages, and the service rejects the question for more.`;
    const fix = `partnerctl contract set ${leaf}.next none`;
    if (purpose === 'show') return http.warn(`${text} If it is whole, run: ${fix}`);
    throw new ShapeError(text, {
      hint: `Nothing is done on part of a list.\n${pagingFixes(leaf)}`,
      details: { operation: operation.name, leaf: `${leaf}.next` },
    });
  };
  return new Paged(itemsOf(readPages(http, listOf(http, operation, options)), onUnproved));
}

/** Returns a list of items as the service sends them, which their ids tell apart. */
export function listOf(http: Http, operation: ListOperation, options: CallOptions): PagedList<JsonObject> {
  const { resource } = operation;
  const idOf = (item: JsonObject) =>
    readItem(operation, () => new Fields(item, resource, http.contract).id(`${resource}.id`)) ?? jsonText(item);
  return { operation, extent: 'list', options: () => options, read: (items) => items, idOf };
}

/** Lists every item as `listItems`, decoded. @param read throws UnknownShape, which becomes a ShapeError */
export function listAll<Item>(
  http: Http,
  operation: ListOperation,
  read: (item: JsonObject, contract: Contract) => Item,
  options: ListOptions,
): Paged<Item> {
  return listItems(http, operation, options).map((item) => readItem(operation, () => read(item, http.contract)));
}

/** Yields the items of a page when it is known how the list continues after it. @param onUnproved may throw */
async function* itemsOf<Item>(
  pages: AsyncIterable<Page<Item>>,
  onUnproved: (count: number) => void,
): AsyncGenerator<readonly Item[]> {
  let held: readonly Item[] | undefined;
  let count = 0;
  try {
    for await (const { items, end } of pages) {
      count += items.length;
      if (end === 'not proved') onUnproved(count);
      if (held !== undefined) yield held;
      held = items;
    }
  } catch (error) {
    // A page before a failure tells the consumer that the list exists. A refused list has no items.
    if (held !== undefined && !(error instanceof ShapeError)) yield held;
    throw error;
  }
  if (held !== undefined) yield held;
}

export function itemError({ seen, fix, message }: UnknownShape, operation: Operation): ShapeError {
  return new ShapeError(message, {
    why: `The service responded to ${operation.leaf} with a list, and an item of it is ${seen}.`,
    ...(fix && { hint: describeFix(fix) }),
    details: { operation: operation.name, ...(fix && { leaf: fix.leaf }), seen },
  });
}

/** Runs a reader from `contract` on items of a list. @throws ShapeError in place of the reader's UnknownShape */
export function readItem<Value>(operation: Operation, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof UnknownShape ? itemError(error, operation) : error;
  }
}

/** The token may not read the list, or there is none. */
const UNAVAILABLE: ReadonlySet<number | undefined> = new Set([401, 403, 404, 405, 501]);

/** The service does not let this token read a list, or has no such list. Only the state can tell what exists. */
export class ListUnavailable extends Error {
  readonly reason: PartnerctlError;

  constructor(reason: PartnerctlError) {
    super(reason.message);
    this.reason = reason;
  }
}

/**
 * Returns ListUnavailable if the service itself says that the token may not read a list, that it has no such list, or
 * nothing at all (204). Every other failure may pass or hide something: the error itself, or a ServiceError.
 * @param wasRead whether this command read the list, or a page of it, before: then there is one, which this token may read
 */
export function toListFailure(error: unknown, name: string, wasRead: boolean): unknown {
  if (!(error instanceof PartnerctlError)) return error;
  const { status, fromGateway } = error.info;
  if (error instanceof NoOperationError) return new ListUnavailable(error);
  const saysNothing = error instanceof EmptyResponseError && status === 204;
  if (!UNAVAILABLE.has(status) && !saysNothing) return error;
  if (!fromGateway && !wasRead) return new ListUnavailable(error);
  // A token that expired or was revoked meanwhile says nothing about the list.
  if (isTokenRejected(error) && !fromGateway) return error;
  const reason = fromGateway ? 'a gateway responded in place of the service' : 'it was read before';
  return new ServiceError(`Cannot read ${name} (${status}), but ${reason}.`, {
    ...error.info,
    hint: [
      'Run the command again later. If it fails again, check the gateway in front of the service.',
      error.info.hint,
    ]
      .filter(Boolean)
      .join('\n'),
    cause: error,
  });
}

/** Returns the error of a failed list with a message that names the list, and a hint for the command. */
export function nameListFailure(error: unknown, name: string, hint: string): unknown {
  if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) return error;
  const { message, info } = error;
  const named = message.includes(name) ? message : `Cannot read ${name}: ${message}`;
  return new RunFailure(named, error, { hint: [info.hint, hint].filter(Boolean).join('\n') });
}
