import { test } from 'vitest';
import { type ConfiguredResult, runCell, runConfigured } from './cell.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import type { Service } from './service.ts';

declare module 'vitest' {
  interface TaskMeta {
    cell?: { readonly service: string; readonly operation: string } & Partial<ConfiguredResult>;
  }
}

const { CONTRACT_SERVICE = '', CONTRACT_OPERATION = '', CONTRACT_CONFIGURED } = process.env;

/** Whether a name is in the comma-separated list, or starts with an entry that is not itself a name. */
function isWanted(name: string, wanted: string, all: readonly string[]): boolean {
  return wanted.split(',').some((each) => (all.includes(each) ? name === each : name.startsWith(each)));
}

/** What no setting makes possible: to list jobs that the service does not list. */
function isImpossible({ jobsStatus }: Service, { name }: Operation): boolean {
  return jobsStatus !== undefined && ['cron list', 'cron reconcile'].includes(name);
}

/**
 * Declares a test for every operation at each of the services. A wrong cell fails.
 * @param only prefixes of the names of the operations that matter at these services
 */
export function declareCells(services: readonly Service[], only = ''): void {
  const serviceNames = services.map(({ name }) => name);
  const operationNames = OPERATIONS.map(({ name }) => name);
  // A file without tests would be an error.
  test('services', () => undefined);
  for (const service of services) {
    if (!isWanted(service.name, CONTRACT_SERVICE, serviceNames)) continue;
    for (const operation of OPERATIONS) {
      if (!operation.name.startsWith(only)) continue;
      if (!isWanted(operation.name, CONTRACT_OPERATION, operationNames)) continue;
      if (CONTRACT_CONFIGURED && isImpossible(service, operation)) continue;
      test.concurrent(`${service.name}/${operation.name}`, async ({ task }) => {
        const names = { service: service.name, operation: operation.name };
        task.meta.cell = names;
        const result = CONTRACT_CONFIGURED
          ? await runConfigured(service, operation)
          : await runCell(service, operation);
        task.meta.cell = { ...names, ...result };
        if (result.verdict === 'wrong') throw new Error(result.reasons.join('\n'));
      });
    }
  }
}
