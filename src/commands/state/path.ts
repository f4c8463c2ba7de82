import { stat } from 'node:fs/promises';
import { command } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { LocalError } from '../../errors.ts';
import { objectResult } from '../../output/command-result.ts';
import { sanitizeLine } from '../../output/sanitize.ts';
import { joinSentences } from '../../output/sentences.ts';

/** The condition of the place where the state is kept. */
interface Inspection {
  readonly exists: boolean;
  readonly bytes: number | null;
  readonly writable: boolean;
  /** Why it cannot be used; null if it can. */
  readonly problem: string | null;
  /** What to do about it. */
  readonly hint: string | null;
}

function problemOf(error: unknown): Pick<Inspection, 'problem' | 'hint'> {
  if (!(error instanceof LocalError)) throw error;
  return { problem: error.info.why ?? error.message, hint: error.info.hint ?? null };
}

async function inspect(context: Context): Promise<Inspection> {
  try {
    const log = await context.log();
    await log.check();
    const { kind, path } = await context.stateLocation();
    const size = kind === 'file' ? await stat(path).catch(() => undefined) : undefined;
    const exists = kind === 'file' ? size !== undefined : (await log.inspect()) !== undefined;
    return { exists, bytes: size?.size ?? null, writable: true, problem: null, hint: null };
  } catch (error) {
    return { exists: false, bytes: null, writable: false, ...problemOf(error) };
  }
}

export default command({
  description:
    'Prints the path of the state file, whether or not it exists, or the address of a shared state. -o json also shows which setting chose it, its size, and whether it can be written.',
  exits: [],
  examples: [
    { line: 'partnerctl state path', does: 'only the path' },
    {
      line: 'partnerctl state path -o json',
      does: 'with the setting that chose it: a flag, a variable, or the default',
    },
  ],
  parse: () => undefined,
  async run(context) {
    const { address, from } = await context.stateLocation();
    const inspection = await inspect(context);
    const result = { path: address, from, ...inspection };
    if (result.problem !== null) {
      const lines = [`The state cannot be kept there: ${result.problem}`, result.hint ?? []].flat();
      await context.warn(joinSentences(lines.join('\n')));
    }
    return { ...objectResult(result, []), text: `${sanitizeLine(address)}\n` };
  },
});
