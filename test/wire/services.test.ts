import { expect, test } from 'vitest';
import { explain, isDocumented, isWrong, runTable } from './table.ts';

/* With few operations, those where a mistake is worst; `services.slow.ts` has all. */

test('no list, history, or creation is wrong at a service that the program does not know', async () => {
  const cells = await runTable('unconfigured', ['spaces list', 'chat tail', 'cron create of a listed job']);
  expect(explain(cells.filter(isWrong))).toEqual([]);
});

test('histories work after the import of the document of the service', async () => {
  const cells = await runTable('imported', ['chat tail']);
  expect(explain(cells.filter(isWrong))).toEqual([]);
  const refused = cells.filter(isDocumented).filter(({ result }) => result.verdict === 'refused');
  expect(explain(refused)).toEqual([]);
});
