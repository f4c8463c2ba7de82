import { expect, test } from 'vitest';
import { explainCells, type How, type MatrixCell, play, printMatrix, SIZES } from './matrix.ts';
import { SERVICES } from './table.ts';

/** `MATRIX_EVERY=17` plays one cell in 17: a prime number comes to every fault. */
const EVERY = Number(process.env.MATRIX_EVERY ?? 1);

const columns = (['unconfigured', 'pasted', 'imported'] as const).flatMap((how) =>
  SIZES.map((size) => [how, size] as const),
);

test.each<readonly [How, number]>(columns)(
  'no list passes for whole that is not: %s, with %i items on a page',
  {
    timeout: 3_600_000,
  },
  async (how, size) => {
    let count = 0;
    const isWanted = (): boolean => count++ % EVERY === 0;
    const cells: MatrixCell[] = [];
    for (const service of SERVICES)
      for (const first of [0, 1] as const) cells.push(...(await play({ service, size, first, how }, isWanted)));
    printMatrix(how, cells);
    expect(explainCells(cells.filter(({ result }) => result.verdict === 'wrong'))).toEqual([]);
  },
);
