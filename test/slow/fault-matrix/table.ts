import type { SerializedError } from 'vitest';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { FAULTS } from './faults.ts';

/** The cells of one command and one fault. */
interface Tally {
  passed: number;
  failed: number;
}

const LEGEND_COLUMNS = 4;
const WIDTH = 120;

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '    ');
}

/** Names columns a to z, then A to Z. */
function letterOf(index: number): string {
  return String.fromCharCode(index < 26 ? 97 + index : 65 + index - 26);
}

function legendOf(faults: readonly string[]): string {
  const rows = Math.ceil(faults.length / LEGEND_COLUMNS);
  const width = Math.floor(WIDTH / LEGEND_COLUMNS);
  const lines = Array.from({ length: rows }, (_, row) =>
    faults
      .map((fault, index) => `${letterOf(index)} ${fault}`)
      .filter((_entry, index) => index % rows === row)
      .map((entry) => entry.padEnd(width))
      .join('')
      .trimEnd(),
  );
  return lines.join('\n');
}

function markOf(tally: Tally | undefined): string {
  if (!tally) return '·';
  return tally.failed > 0 ? '✗' : String(tally.passed);
}

/**
 * Prints each failure as it happens, and at the end the results as a table: one row per command, one column per fault, and the
 * number of requests that the fault hit without a problem. Names every failed cell with the command that runs it alone.
 */
export class MatrixTable implements Reporter {
  readonly #rows = new Map<string, Map<string, Tally>>();
  readonly #failed: string[] = [];
  readonly #start = Date.now();

  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result();
    const isFailed = state === 'failed';
    if (isFailed) print(`✗ ${test.name}\n${indent(errors.map(({ message }) => message).join('\n'))}`);
    const [command = '', fault] = test.name.split('/');
    if (fault === undefined) return;
    const row = this.#rows.get(command) ?? new Map<string, Tally>();
    this.#rows.set(command, row);
    const tally = row.get(fault) ?? { passed: 0, failed: 0 };
    row.set(fault, tally);
    tally[isFailed ? 'failed' : 'passed'] += 1;
    if (isFailed) this.#failed.push(test.name);
  }

  onTestModuleEnd(module: TestModule): void {
    for (const { message } of module.errors()) print(`✗ ${module.relativeModuleId}\n${indent(message)}`);
  }

  onTestRunEnd(_modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    for (const { message, stack } of unhandled) print(`✗ outside of the cells\n${indent(stack ?? message)}`);
    const faults = FAULTS.map(({ name }) => name).filter((name) =>
      [...this.#rows.values()].some((row) => row.has(name)),
    );
    const tallies = [...this.#rows.values()].flatMap((row) => [...row.values()]);
    const cells = tallies.reduce((sum, { passed, failed }) => sum + passed + failed, 0);
    const label = Math.max(0, ...[...this.#rows.keys()].map((name) => name.length));
    const table = [...this.#rows].map(
      ([name, row]) => `${name.padEnd(label)} ${faults.map((fault) => ` ${markOf(row.get(fault))}`).join('')}`,
    );
    const header = `${''.padEnd(label)} ${faults.map((_, index) => ` ${letterOf(index)}`).join('')}`;
    const reproduce = this.#failed.map((name) => `  npm run faults -- --only '${name}'`);
    const seconds = Math.round((Date.now() - this.#start) / 1000);
    const summary = `${cells} cells, ${this.#failed.length} failed, ${seconds} s`;
    print(['', header, ...table, '', legendOf(faults), '', ...reproduce, summary].join('\n'));
  }
}
