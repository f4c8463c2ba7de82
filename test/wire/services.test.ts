import { expect, test } from 'vitest';
import { explain, isDocumented, isWrong, runTable } from './table.ts';

/* With few operations, those where a mistake is worst, and few imports; `services.slow.ts` has all. */

test('no list, history, or creation is wrong at an unknown service, and its document makes a refused history work', async () => {
  const cells = await runTable('unconfigured', ['chat tail', 'cron create of a listed job']);
  expect(explain(cells.filter(isWrong))).toEqual([]);
  const refused = cells.filter(({ operation, result }) => operation === 'chat tail' && result.verdict === 'refused');
  const services = refused.filter(isDocumented).map(({ service }) => service);
  expect(services.length).toBeGreaterThan(0);
  const imported = await runTable('imported', ['chat tail'], services);
  expect(explain(imported.filter(({ result }) => result.verdict !== 'works'))).toEqual([]);
});
