import { leaf, run } from '../../cli/leaf.ts';

export const path = () =>
  leaf('path', 'Print the path or the address of the state', {
    description:
      'Prints the path of the state file, whether or not it exists, or the address of a shared state. -o json also shows which setting chose it.',
    examples: [
      'partnerctl state path  # only the path',
      'partnerctl state path -o json  # with the setting that chose it: a flag, a variable, or the default',
    ],
  }).action(
    run(async (context) => {
      const { textResult } = await import('./shared/text-result.ts');
      const { address, from } = await context.stateLocation();
      return textResult({ path: address, from }, [address]);
    }),
  );
