import fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../support/properties.ts';
import { newMachine, runCell, settle } from './cell.ts';
import { services } from './generator.ts';
import { explainCells, type MatrixCell, play, SIZES } from './matrix.ts';
import { OPERATIONS } from './operations.ts';
import { serve } from './server.ts';
import { SERVICES } from './table.ts';

/** The number of generated services, each with one operation. A busy machine takes a second for each. */
const COUNT = Number(process.env.WIRE_SERVICES ?? 4);

/** A generated service may need several commands: how its lists continue, and the names of two resources. */
const PASTED = 3;

const operations = fc.oneof(
  { weight: 1, arbitrary: fc.constant('chat tail') },
  { weight: 2, arbitrary: fc.constantFrom(...Object.keys(OPERATIONS)) },
);

test('an operation at any service works, or is refused with commands that settle it', {
  timeout: 120_000 + COUNT * 2_000,
}, async () => {
  const counts: Record<string, number> = {};
  const property = fc.asyncProperty(services, operations, async (service, name) => {
    const operation = OPERATIONS[name];
    if (operation === undefined) throw new Error(`There is no operation ${name}.`);
    const server = await serve(service);
    try {
      const first = await runCell(server, operation, await newMachine(server));
      const { verdict, reason, pasted } = await settle(server, operation, first, PASTED);
      if (verdict !== 'works') throw new Error(`${name}: ${first.reason}\n${reason}`);
      const key = `after ${pasted.length} commands`;
      counts[key] = (counts[key] ?? 0) + 1;
    } finally {
      await server.stop();
    }
  });
  await fc.assert(property, { numRuns: COUNT });
  process.stdout.write(`${COUNT} generated services: ${JSON.stringify(counts)}\n`);
});

/** One in so many cells of a service is played: a prime number comes to every fault. */
const EVERY = 17;

const settings = fc.record({
  setting: fc.record({
    service: fc.oneof(services, fc.constantFrom(...SERVICES)),
    size: fc.constantFrom(...SIZES),
    first: fc.constantFrom(0, 1),
    how: fc.constantFrom('unconfigured', 'pasted', 'imported'),
  }),
  start: fc.nat({ max: EVERY - 1 }),
});

test('no list passes for whole that is not, at any service, with pages of any size, and a fault at one of them', {
  timeout: 120_000 + COUNT * 4_000,
}, async () => {
  const cells: MatrixCell[] = [];
  for (const [index, { setting, start }] of fc.sample(settings, COUNT * propertyRuns(4, 2)).entries()) {
    let count = start;
    const service = { ...setting.service, name: `${setting.service.name} (sample ${index})` };
    cells.push(...(await play({ ...setting, service }, () => count++ % EVERY === 0)));
  }
  expect(cells.length).toBeGreaterThan(COUNT * 2);
  expect(explainCells(cells.filter(({ result }) => result.verdict === 'wrong'))).toEqual([]);
});
