import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const only = values.only?.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const vitest = await startVitest('test', [], {
  config: 'test/faults-matrix/vitest.config.ts',
  run: true,
  ...(only !== undefined && { testNamePattern: `^${only}` }),
});
await vitest.close();
