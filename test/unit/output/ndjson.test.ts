import { expect, test } from 'vitest';
import type { Sink } from '../../../src/cli/io.ts';
import type { ListResult, Row } from '../../../src/output/command-result.ts';
import { writeNdjson } from '../../../src/output/formats/json.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

function sink(write: (text: string) => Promise<void>): Sink {
  return { write, isTTY: false, columns: 80, rows: undefined };
}

function list(rows: AsyncIterable<Row>, sharesWrites: boolean): ListResult {
  return { kind: 'list', columns: [], rows, empty: '', sharesWrites };
}

const row = (id: number): Row => ({ json: { id }, cells: [], sortIndex: 0 });

/** Pages of rows, each in a turn of its own. */
async function* pages(...sizes: number[]): AsyncGenerator<Row> {
  let id = 0;
  for (const size of sizes) {
    await nextTurn();
    for (let index = 0; index < size; index += 1) {
      id += 1;
      yield row(id);
    }
  }
}

test('the rows of a page that may share a write do, and are written before the next page is there', async () => {
  const written: string[] = [];
  let isFirstWritten = false;
  async function* rows(): AsyncGenerator<Row> {
    yield* pages(3);
    while (written.length === 0) await nextTurn();
    isFirstWritten = true;
    yield* pages(2);
  }
  await writeNdjson(
    list(rows(), true),
    sink(async (text) => void written.push(text)),
  );
  expect(isFirstWritten).toBe(true);
  expect(written).toEqual(['{"id":1}\n{"id":2}\n{"id":3}\n', '{"id":1}\n{"id":2}\n']);
});

test('other rows are written one by one, before the next is asked for', async () => {
  const written: string[] = [];
  await writeNdjson(
    list(pages(2), false),
    sink(async (text) => void written.push(text)),
  );
  expect(written).toEqual(['{"id":1}\n', '{"id":2}\n']);
});

test('rows before a failure are written', async () => {
  const written: string[] = [];
  async function* rows(): AsyncGenerator<Row> {
    yield* pages(2);
    throw new Error('The service failed.');
  }
  const writing = writeNdjson(
    list(rows(), true),
    sink(async (text) => void written.push(text)),
  );
  await expect(writing).rejects.toThrow('The service failed.');
  expect(written).toEqual(['{"id":1}\n{"id":2}\n']);
});

test.each([[[2]], [[2, 2]]])('a write that fails ends the list with pages of %j', async (sizes) => {
  const full = sink(() => Promise.reject(new Error('disk full')));
  await expect(writeNdjson(list(pages(...sizes), true), full)).rejects.toThrow('disk full');
});
