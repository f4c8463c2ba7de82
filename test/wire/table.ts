import { newMachine, runCell, settle, type Verdict } from './cell.ts';
import { OPERATIONS, operationsOf } from './operations.ts';
import { serve } from './server.ts';
import type { Service } from './service.ts';
import { FRAMEWORKS } from './services/frameworks.ts';
import { HISTORIES } from './services/histories.ts';
import { PUBLIC_APIS } from './services/public-apis.ts';
import { SILENT } from './services/silent.ts';

const DECLARED: readonly Service[] = [...FRAMEWORKS, ...PUBLIC_APIS, ...HISTORIES];
export const SERVICES: readonly Service[] = [...DECLARED, ...SILENT];

/** The maximum number of commands from refusals that an operator pastes for one operation. */
const PASTED = 2;

/** One operation at one service, and the verdict. */
export interface Cell {
  readonly service: Service;
  readonly operation: string;
  readonly result: Verdict;
}

/**
 * Runs operations at every declared service, each on a machine of its own.
 * @param operations the names of the operations; all by default
 * @param how whether the program knows nothing of the service, pastes the commands of its refusals, or has imported its
 *   document
 */
export async function runTable(
  how: 'unconfigured' | 'pasting' | 'imported',
  operations = Object.keys(OPERATIONS),
  services = DECLARED,
): Promise<readonly Cell[]> {
  const cells: Cell[] = [];
  for (const service of services) {
    const server = await serve(service);
    const commands = how === 'imported' ? [['contract', 'import', server.documentUrl, '--yes']] : [];
    const machine = await newMachine(server, commands);
    for (const [operation, steps] of operationsOf(service, operations)) {
      const first = await runCell(server, steps, machine);
      const isPasted = how === 'pasting' && isPossible(service, operation);
      cells.push({ service, operation, result: isPasted ? await settle(server, steps, first, PASTED) : first });
    }
  }
  return cells;
}

function isPossible({ impossible = {} }: Service, operation: string): boolean {
  return !Object.hasOwn(impossible, operation);
}

/** Whether a document can tell all that the cell needs. */
export function isDocumented({ service, operation }: Cell): boolean {
  const { untold } = service;
  const isUntold = untold !== undefined && (untold.operations?.includes(operation) ?? true);
  return isPossible(service, operation) && !isUntold;
}

/** The names of cells, and why they are what they are. */
export function explain(cells: readonly Cell[]): string[] {
  return cells.map(({ service, operation, result }) => `${service.name} / ${operation}: ${result.reason}`);
}

/** Whether the cell is wrong. */
export function isWrong({ result }: Cell): boolean {
  return result.verdict === 'wrong';
}

/** The part of the cells that work, of those that can. */
export function shareOfWorking(cells: readonly Cell[]): number {
  const possible = cells.filter(({ service, operation }) => isPossible(service, operation));
  return possible.filter(({ result }) => result.verdict === 'works').length / possible.length;
}

/** Prints how many cells have each verdict, and which do not work. */
export function printTable(title: string, cells: readonly Cell[]): void {
  const count = (verdict: string) => cells.filter(({ result }) => result.verdict === verdict).length;
  const others = DECLARED.flatMap((service) => {
    const own = cells.filter((cell) => cell.service === service && cell.result.verdict !== 'works');
    return own.length === 0 ? [] : [`  ${service.name}: ${own.map(({ operation }) => operation).join(', ')}`];
  });
  const counts = `${count('works')} work, ${count('refused')} refused, ${count('wrong')} wrong`;
  process.stdout.write(`${[`${title}: ${counts}. Not working:`, ...others].join('\n')}\n`);
}
