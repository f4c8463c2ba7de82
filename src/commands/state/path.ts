import { deferred, defineCommand } from '../../cli/command.ts';
import { reportResult } from '../../output/command-result.ts';

export const path = () =>
  defineCommand('path', 'Print the path or the address of the state, whether or not it exists', {
    exits: ['notFound'],
    json: '{path, from}',
    examples: [
      'partnerctl state path  # only the path',
      'partnerctl state path -o json  # with the setting that chose it: a flag, a variable, or the default',
      'partnerctl state path --state ops.jsonl  # the whole path of a file',
    ],
  }).action(
    deferred(async (context) => {
      const { address, from } = (await import('../../state/location.ts')).stateLocation(context);
      return reportResult({ path: address, from }, [{ indent: 0, text: address }]);
    }),
  );
