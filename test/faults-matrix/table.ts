import type { Reporter, TestCase } from 'vitest/node';
import { FAULTS } from './faults.ts';

/** The cells of one command and one fault. */
interface Tally {
  passed: number;
  failed: number;
}

const LEGEND_COLUMNS = 4;
const WIDTH = 120;

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
 * Prints the results as a table: a command a row, a fault a column, and how many requests the fault hit without a
 * problem. Names every failed cell with the command that runs it alone.
 */
export class MatrixTable implements Reporter {
  readonly #rows = new Map<string, Map<string, Tally>>();
  readonly #failed: string[] = [];
  readonly #start = Date.now();

  onTestCaseResult(test: TestCase): void {
    const { state } = test.result();
    const [command = '', fault = ''] = test.name.split('/');
    if (fault === '') return;
    const row = this.#rows.get(command) ?? new Map<string, Tally>();
    this.#rows.set(command, row);
    const tally = row.get(fault) ?? { passed: 0, failed: 0 };
    row.set(fault, tally);
    if (state === 'passed') tally.passed += 1;
    else tally.failed += 1;
    if (state === 'failed') this.#failed.push(test.name);
  }

  onTestRunEnd(): void {
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
    process.stdout.write(`\n${[header, ...table, '', legendOf(faults), '', ...reproduce, summary].join('\n')}\n`);
  }
}
