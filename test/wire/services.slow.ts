import { expect, test } from 'vitest';
import { explain, isDocumented, isWrong, printTable, runTable, shareOfWorking } from './table.ts';

test('no operation is wrong at a service that the program does not know, and most work', async () => {
  const cells = await runTable('unconfigured');
  printTable('unconfigured', cells);
  expect(explain(cells.filter(isWrong))).toEqual([]);
  expect(shareOfWorking(cells)).toBeGreaterThan(0.75);
});

test('nearly all operations work after at most two commands that refusals name', async () => {
  const cells = await runTable('pasting');
  printTable('after at most two pasted commands', cells);
  expect(explain(cells.filter(isWrong))).toEqual([]);
  expect(shareOfWorking(cells)).toBeGreaterThan(0.98);
});

test('all operations that the document of a service describes work after its import, and none is wrong', async () => {
  const cells = await runTable('imported');
  printTable('after the import of the document', cells);
  expect(explain(cells.filter(isWrong))).toEqual([]);
  const refused = cells.filter(isDocumented).filter(({ result }) => result.verdict === 'refused');
  expect(explain(refused)).toEqual([]);
});
