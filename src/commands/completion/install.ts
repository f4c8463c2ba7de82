import { command } from '../../cli/command.ts';
import type { InstallOptions } from '../../completion/install.ts';
import type { FileChange } from '../../completion/install-plan.ts';
import { SHELLS } from '../../completion/scripts.ts';
import { UsageError } from '../../errors.ts';
import { type Column, listResult } from '../../output/command-result.ts';

const COLUMNS: readonly Column<FileChange>[] = [
  { header: 'FILE', value: ({ file }) => file, fit: 'start' },
  { header: 'ACTION', value: ({ action }) => action },
];

export default command<InstallOptions>({
  description:
    "Sets up completion in your shell: writes the script where the shell finds it and, if necessary, adds one line to the shell's startup file. Shows what it changes, and asks first.",
  flags: [
    { usage: '--shell <name>', description: 'the shell', choices: SHELLS, defaultText: 'the one in SHELL' },
    { usage: '--rc-file <path>', description: "the startup file to add the line to, such as PowerShell's $PROFILE" },
    { usage: '--yes', description: 'do not ask' },
    { usage: '--dry-run', description: 'show what would change; nothing is written' },
  ],
  columns: COLUMNS,
  exits: [],
  examples: [
    { line: 'partnerctl completion install', does: 'set it up for your login shell, after confirming' },
    { line: 'partnerctl completion install --shell zsh --yes', does: 'without confirming' },
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
      empty: 'There is nothing to change.',
      document: () => installed,
      summary: () => (installed.status === 'unchanged' ? 'Everything is in place.' : next),
    });
  },
});
