import { command } from '../../cli/command.ts';
import { completionScript } from '../../completion/scripts.ts';

export default command({
  description: 'Prints the script that completes partnerctl in fish. `partnerctl completion install` sets it up.',
  exits: [],
  examples: [
    { line: 'partnerctl completion fish > ~/.config/fish/completions/partnerctl.fish', does: 'set it up by hand' },
  ],
  parse: () => undefined,
  run: async () => ({ kind: 'text', text: completionScript('fish') }),
});
