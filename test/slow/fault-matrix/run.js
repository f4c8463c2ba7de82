import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

/** Runs the matrix. `--only` takes the name of a cell, or a prefix of several: `cron create/`. */
const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
process.env.FAULTS_ONLY = values.only;
const vitest = await startVitest('test', [], { config: 'test/slow/fault-matrix/vitest.config.ts', run: true });
await vitest.close();
