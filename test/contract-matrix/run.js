import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

/**
 * Runs the matrix. `--service` and `--operation` take comma-separated names or prefixes. `--configured` also follows each
 * refusal. `--refusals` prints them.
 */
const { values } = parseArgs({
  options: {
    service: { type: 'string', default: '' },
    operation: { type: 'string', default: '' },
    configured: { type: 'boolean', default: false },
    refusals: { type: 'boolean', default: false },
  },
});
process.env.CONTRACT_SERVICE = values.service;
process.env.CONTRACT_OPERATION = values.operation;
process.env.CONTRACT_CONFIGURED = values.configured ? 'yes' : '';
process.env.CONTRACT_REFUSALS = values.refusals ? 'yes' : '';
const vitest = await startVitest('test', [], { config: 'test/contract-matrix/vitest.config.ts', run: true });
await vitest.close();
