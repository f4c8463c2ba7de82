import { command } from '../../cli/command.ts';
import type { InstallOptions } from '../../completion/install.ts';
import type { Change } from '../../completion/install-plan.ts';
import { SHELLS } from '../../completion/scripts.ts';
import { UsageError } from '../../errors.ts';
import { type Column, listResult } from '../../output/command-result.ts';

const COLUMNS: readonly Column<Change>[] = [
  { header: 'FILE', value: ({ file }) => file, fit: 'start' },
  { header: 'ACTION', value: ({ action }) => action },
];

export default command<InstallOptions>({
  description:
    'Makes your shell complete partnerctl: writes the script where the shell finds it and, if the shell needs it, adds one line to the file that it reads when it starts. Says what it changes, and asks.',
  flags: [
    { usage: '--shell <name>', description: 'the shell', choices: SHELLS, defaultText: 'the one in SHELL' },
    { usage: '--rc-file <path>', description: 'the file to add the line to, such as $PROFILE of PowerShell' },
    { usage: '--yes', description: 'do not ask' },
    { usage: '--dry-run', description: 'show what would change; nothing is written' },
  ],
  columns: COLUMNS,
  output: async () => (await import('../../output-schemas/completion.ts')).COMPLETION_INSTALL,
  exits: [],
  examples: [
    { line: 'partnerctl completion install', does: 'set it up for your login shell, after a question' },
    { line: 'partnerctl completion install --shell zsh --yes', does: 'without a question' },
    { line: 'partnerctl completion install --shell fish --dry-run -o json', does: 'show the script and where it goes' },
  ],
  parse(args) {
    const rcFile = args.value('rc-file');
    if (rcFile === '') throw new UsageError('--rc-file is empty.');
    const shell = SHELLS.find((name) => name === args.value('shell'));
    return { shell, rcFile, yes: args.isSet('yes'), dryRun: args.isSet('dry-run') };
  },
  async run(context, options) {
    const { install } = await import('../../completion/install.ts');
    const installed = await install(context, options);
    const next = installed.status === 'installed' ? `Completion works in each new ${installed.shell}.` : '';
    return listResult(installed.changes, COLUMNS, {
      empty: 'Nothing is to be changed.',
      document: () => installed,
      summary: () => (installed.status === 'unchanged' ? 'Everything is in place.' : next),
    });
  },
});
