import { expect, test } from 'vitest';
import { explain, isDocumented, isWrong, printTable, runTable, shareOfWorking } from './table.ts';

test.each([
  ['that the program does not know', 'unconfigured', 0.75],
  ['after at most two commands that refusals name', 'pasting', 0.98],
] as const)('no operation is wrong at a service %s, and most work', async (title, how, share) => {
  const cells = await runTable(how);
  printTable(title, cells);
  expect(explain(cells.filter(isWrong))).toEqual([]);
  expect(shareOfWorking(cells)).toBeGreaterThan(share);
});

test('all operations that the document of a service describes work after its import, and none is wrong', async () => {
  const cells = await runTable('imported');
  printTable('after the import of the document', cells);
  expect(explain(cells.filter(isWrong))).toEqual([]);
  const refused = cells.filter(isDocumented).filter(({ result }) => result.verdict === 'refused');
  expect(explain(refused)).toEqual([]);
});
