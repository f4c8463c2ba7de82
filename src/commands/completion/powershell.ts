import { command } from '../../cli/command.ts';
import { completionScript } from '../../completion/scripts.ts';

export default command({
  description: 'Prints the script that completes partnerctl in PowerShell. `partnerctl completion install` sets it up.',
  exits: [],
  examples: [
    { line: 'partnerctl completion powershell > completion.ps1', does: 'write a script to dot-source in $PROFILE' },
  ],
  parse: () => undefined,
  run: async () => ({ kind: 'text', text: completionScript('powershell') }),
});
