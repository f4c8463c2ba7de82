import type { Context } from '../../cli/context.ts';
import { leaf, run } from '../../cli/leaf.ts';
import { LocalError } from '../../errors.ts';
import { joinSentences } from '../../output/sentences.ts';

/** Finds out whether the state exists and can be written. A place that cannot be used is an answer, not an error. */
async function inspect(context: Context) {
  try {
    const log = await context.log();
    await log.check();
    return { exists: (await log.inspect()) !== undefined, writable: true, problem: null, hint: null };
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    const { why = error.message, hint = null } = error.info;
    return { exists: false, writable: false, problem: why, hint };
  }
}

export const path = () =>
  leaf('path', 'Print the path or the address of the state', {
    description:
      'Prints the path of the state file, whether or not it exists, or the address of a shared state. -o json also shows which setting chose it, and whether it exists and can be written.',
    examples: [
      'partnerctl state path  # only the path',
      'partnerctl state path -o json  # with the setting that chose it: a flag, a variable, or the default',
    ],
  }).action(
    run(async (context) => {
      const { textResult } = await import('./shared/text-result.ts');
      const { address, from } = await context.stateLocation();
      const inspection = await inspect(context);
      const { problem, hint } = inspection;
      if (problem !== null) {
        const lines = [`The state cannot be kept there: ${problem}`, hint ?? []].flat();
        await context.warn(joinSentences(lines.join('\n')));
      }
      return textResult({ path: address, from, ...inspection }, [address]);
    }),
  );
