import { expect, test } from 'vitest';
import type { ListResult, Row } from '../../../src/output/command-result.ts';
import { writeNdjson } from '../../../src/output/formats/json.ts';
import { Paged } from '../../../src/output/paged.ts';
import type { Sink } from '../../../src/platform/io.ts';

function sink(write: (text: string) => Promise<void>): Sink {
  return { write, isTTY: false, columns: 80, rows: undefined };
}

function list(rows: AsyncIterable<Row>): ListResult {
  return { kind: 'list', columns: [], rows, empty: '' };
}

const row = (id: number): Row => ({ json: { id }, cells: [], sortIndex: 0 });

async function* pages(...sizes: number[]): AsyncGenerator<readonly Row[]> {
  for (const size of sizes) yield Array.from({ length: size }, (_, index) => row(index + 1));
}

test('the rows of a page share a write, and are written before the next page is requested', async () => {
  const written: string[] = [];
  let writesBefore = 0;
  async function* all(): AsyncGenerator<readonly Row[]> {
    yield* pages(3, 0);
    writesBefore = written.length;
    yield* pages(2);
  }
  await writeNdjson(
    list(new Paged(all())),
    sink(async (text) => void written.push(text)),
  );
  expect(writesBefore).toBe(1);
  expect(written).toEqual(['{"id":1}\n{"id":2}\n{"id":3}\n', '{"id":1}\n{"id":2}\n']);
});

test('rows without pages are written one by one, before the next is requested', async () => {
  const written: string[] = [];
  async function* rows(): AsyncGenerator<Row> {
    yield row(1);
    expect(written).toHaveLength(1);
    yield row(2);
  }
  await writeNdjson(
    list(rows()),
    sink(async (text) => void written.push(text)),
  );
  expect(written).toEqual(['{"id":1}\n', '{"id":2}\n']);
});

test('rows of a page before an invalid one are written', async () => {
  const written: string[] = [];
  const rows = new Paged(pages(3)).map((each) => {
    if (each.json !== undefined && JSON.stringify(each.json) === '{"id":3}') throw new Error('It has no id.');
    return each;
  });
  const writing = writeNdjson(
    list(rows),
    sink(async (text) => void written.push(text)),
  );
  await expect(writing).rejects.toThrow('It has no id.');
  expect(written).toEqual(['{"id":1}\n{"id":2}\n']);
});

test.each([[[2]], [[2, 2]]])('a write that fails ends the list with pages of %j', async (sizes) => {
  const full = sink(() => Promise.reject(new Error('disk full')));
  await expect(writeNdjson(list(new Paged(pages(...sizes))), full)).rejects.toThrow('disk full');
});
