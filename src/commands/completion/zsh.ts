import { command } from '../../cli/command.ts';
import { completionScript } from '../../completion/scripts.ts';

export default command({
  description: 'Prints the script that completes partnerctl in zsh. `partnerctl completion install` sets it up.',
  exits: [],
  examples: [
    {
      line: 'partnerctl completion zsh > ~/.zfunc/_partnerctl',
      does: 'set it up by hand, in a directory of your fpath',
    },
  ],
  parse: () => undefined,
  run: async () => ({ kind: 'text', text: completionScript('zsh') }),
});
