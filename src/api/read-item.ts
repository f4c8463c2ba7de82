import { UnknownShape } from '../contract/assumptions.ts';
import { ShapeError } from '../errors.ts';

/**
 * Runs a reader of `contract` on an item of a list.
 * @throws ShapeError in place of the reader's UnknownShape
 */
export function readItem<Item, Value>(item: Item, reader: (item: Item) => Value): Value {
  try {
    return reader(item);
  } catch (error) {
    if (!(error instanceof UnknownShape)) throw error;
    throw new ShapeError(error.message, {
      why: `It holds ${error.seen}.`,
      details: { assumption: error.assumption, seen: error.seen },
    });
  }
}
