import { expect } from 'vitest';
import { COMMON_EXITS } from '../../src/cli/exit-meanings.ts';
import { findCommand } from '../../src/cli/parse.ts';
import { EXIT } from '../../src/errors.ts';

/** Checks that a command exits only with codes from its help. `sandbox run` exits with the code of its command. */
export async function expectDeclaredExit(argv: readonly string[], code: number): Promise<void> {
  const entry = findCommand(argv);
  if (entry === undefined || entry.commandPath === 'sandbox run') return;
  const { exits } = (await entry.load()).default;
  const declared = [...COMMON_EXITS, ...exits].map((name) => EXIT[name]);
  expect(declared, `${entry.commandPath} exits with what its help says`).toContain(code);
}
