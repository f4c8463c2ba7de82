import type { SerializedError } from 'vitest';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { OPERATIONS } from './operations.ts';

const MARKS = { works: '.', refused: 'r', wrong: 'X' } as const;
/** The printed length of a refusal. */
const REFUSAL_LENGTH = 2_000;
const REASON_LENGTH = 120;
/** Whether only some cells run: their problems are printed in full. */
const IS_PART = Boolean(process.env.CONTRACT_SERVICE || process.env.CONTRACT_OPERATION);

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function indent(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, '    ');
}

function letterOf(index: number): string {
  return String.fromCharCode(97 + index);
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${((100 * part) / whole).toFixed(1)} %`;
}

/**
 * Prints each wrong cell with its reasons when it is found, and at the end the table: one row per service, one column per
 * operation, `.` for works, `r` for refused, `X` for wrong.
 */
export class MatrixTable implements Reporter {
  readonly #rows = new Map<string, Map<string, keyof typeof MARKS>>();
  readonly #wrong: { readonly service: string; readonly operation: string; readonly reason: string }[] = [];
  readonly #start = Date.now();
  #followed = 0;

  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result();
    const { service, operation, verdict, reasons = [], settings = [] } = test.meta().cell ?? {};
    if (service === undefined || operation === undefined) return;
    const mark = verdict !== undefined && state === 'passed' ? verdict : 'wrong';
    const row = this.#rows.get(service) ?? new Map<string, keyof typeof MARKS>();
    this.#rows.set(service, row.set(operation, mark));
    if (settings.length > 0) this.#followed += 1;
    if (mark === 'wrong') {
      const texts = reasons.length > 0 ? reasons : errors.map(({ message }) => message);
      const followed = settings.length > 0 ? ['', 'after:', ...settings] : [];
      if (IS_PART) print(`X ${test.name}\n${indent([...texts, ...followed].join('\n'))}`);
      this.#wrong.push({ service, operation, reason: (texts[0] ?? '').slice(0, REASON_LENGTH) });
    } else if (mark === 'refused' && (process.env.CONTRACT_REFUSALS || process.env.CONTRACT_CONFIGURED)) {
      print(`r ${test.name}\n${indent([...reasons, ...settings].join('\n').slice(0, REFUSAL_LENGTH))}`);
    }
  }

  onTestModuleEnd(module: TestModule): void {
    for (const { message } of module.errors()) print(`X ${module.relativeModuleId}\n${indent(message)}`);
  }

  onTestRunEnd(_modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    for (const { message, stack } of unhandled) print(`X outside of the cells\n${indent(stack ?? message)}`);
    const marks = [...this.#rows.values()].flatMap((row) => [...row.values()]);
    const width = Math.max(0, ...[...this.#rows.keys()].map((name) => name.length));
    const ran = [...this.#rows.values()];
    const names = OPERATIONS.map(({ name }) => name).filter((name) => ran.some((row) => row.has(name)));
    const count = (mark: keyof typeof MARKS, of: readonly string[] = marks): number =>
      of.filter((each) => each === mark).length;
    const lines = [...this.#rows]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([service, row]) => {
        const cells = names.map((name) => {
          const mark = row.get(name);
          return mark === undefined ? ' ' : MARKS[mark];
        });
        return `${service.padEnd(width)}  ${cells.join(' ')}  ${count('works', [...row.values()])}/${row.size}`;
      });
    const header = `${''.padEnd(width)}  ${names.map((_name, index) => letterOf(index)).join(' ')}`;
    const columns = names.map((name, index) => {
      const column = [...this.#rows.values()].flatMap((row) => row.get(name) ?? []);
      const [works, refused, wrong] = [count('works', column), count('refused', column), count('wrong', column)];
      return `${letterOf(index)} ${name.padEnd(32)} works ${works}, refused ${refused}, wrong ${wrong}`;
    });
    const kinds = Object.entries(this.#countKinds())
      .sort(([, a], [, b]) => b - a)
      .map(([kind, number]) => `  ${number}  ${kind}`);
    const wrong = this.#wrong.length > 0 ? ['wrong, by kind:', ...kinds, '', ...this.#describeWrong(), ''] : [];
    print(['', header, ...lines, '', ...columns, '', ...wrong].join('\n'));
    const seconds = Math.round((Date.now() - this.#start) / 1000);
    const followed = this.#followed > 0 ? `, ${this.#followed} after following a refusal` : '';
    print(
      `${this.#rows.size} services, ${marks.length} cells: works ${count('works')} (${percent(count('works'), marks.length)}), ` +
        `refused ${count('refused')}, wrong ${count('wrong')}${followed}; ${seconds} s`,
    );
  }

  /** The wrong cells, with those of one service and one reason on one line. */
  #describeWrong(): string[] {
    const operationsByReason = new Map<string, string[]>();
    for (const { service, operation, reason } of this.#wrong) {
      const key = `${service}\t${kindOf(reason)}`;
      operationsByReason.set(key, [...(operationsByReason.get(key) ?? []), operation]);
    }
    const lines = [...operationsByReason].map(([key, operations]) => {
      const [service, reason] = key.split('\t');
      return `  ${service}: ${operations.join(', ')}   # ${reason}`;
    });
    return ["wrong (node test/contract-matrix/run.js --service '…' --operation '…'):", ...lines.toSorted()];
  }

  #countKinds(): Record<string, number> {
    const kinds: Record<string, number> = {};
    for (const { reason } of this.#wrong) {
      const kind = kindOf(reason);
      kinds[kind] = (kinds[kind] ?? 0) + 1;
    }
    return kinds;
  }
}

/** A reason without the parts that differ between cells. */
function kindOf(reason: string): string {
  return reason
    .replace(/(?<=^twice: \w+ ).*/, '…')
    .replace(/(?<=^no row has ).*/, '…')
    .replace(/(?<=^no object has ).*/, '…')
    .replace(/(?<=^the texts are |^the reply is ).*/, '…')
    .replace(/(?<=^loses what the service said: ).*/, '…')
    .replace(/\d+ (?=rows|objects|agents)/g, 'n ')
    .replace(/(?<=instead of )\d+$/, 'm')
    .replace(/ is "[^"]*" instead of .*/, ' is another one');
}
