import { leaf, run } from '../../cli/leaf.ts';

export const path = () =>
  leaf('path', 'Print the path or the address of the state', {
    description:
      'Prints the path of the state file, whether or not it exists, or the address of a shared state. -o json also shows which setting chose it, its size, and whether it can be written.',
    examples: [
      ['partnerctl state path', 'only the path'],
      ['partnerctl state path -o json', 'with the setting that chose it: a flag, a variable, or the default'],
    ],
  }).action(
    run(async (context) => {
      const [{ checkPlace }, { joinSentences }, { textResult }] = await Promise.all([
        import('../../state/check-place.ts'),
        import('../../output/sentences.ts'),
        import('./shared/text-result.ts'),
      ]);
      const location = await context.stateLocation();
      const { address, from } = location;
      const inspection = await checkPlace(() => context.log(), location);
      const { problem, hint } = inspection;
      if (problem !== null) {
        const lines = [`The state cannot be kept there: ${problem}`, hint ?? []].flat();
        await context.warn(joinSentences(lines.join('\n')));
      }
      return textResult({ path: address, from, ...inspection }, [address]);
    }),
  );
