import type { Reporter, TestCase } from 'vitest/node';

/** Lists the tests that passed only on a retry: each is a defect of the test or of the program. */
export class FlakyTests implements Reporter {
  readonly #names: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky) this.#names.push(`${test.module.relativeModuleId} > ${test.fullName}`);
  }

  onTestRunEnd(): void {
    if (this.#names.length === 0) return;
    process.stdout.write(`Passed only on a retry:\n${this.#names.map((name) => `  ${name}\n`).join('')}`);
  }
}
