import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { deferred, defineCommand, programOf } from '../cli/command.ts';
import type { FindLive } from '../cli/completion.ts';
import type { Context } from '../cli/context.ts';

/** Makes the function that finds values as they were last listed. It requests nothing. */
function createFinder(context: Context, program: CommandUnknownOpts): FindLive {
  const { config } = context;
  return async (kind) => {
    if (kind === 'profile') {
      return config.names().map((value) => ({ value, description: config.find(value)?.base_url ?? '' }));
    }
    const { activeProfile, resolveBaseUrl } = await import('../config/settings.ts');
    const { readKnownIds } = await import('../cli/completion-ids.ts');
    // The line may name another profile or service.
    const settings = { ...context, flags: { ...context.flags, ...program.opts() } };
    const profile = activeProfile(settings);
    const baseUrl = resolveBaseUrl(settings, profile)?.value;
    return baseUrl === undefined ? [] : readKnownIds(context, { profile: profile.value, baseUrl }, kind);
  };
}

export const completion = () =>
  defineCommand('completion', 'Print the completion script of a shell', {
    description:
      'Prints the script that completes partnerctl in a shell. Ids are offered as `spaces list`, `agents list`, and `cron list` last showed them; a Tab requests nothing. With words, prints what may follow them, which is what the script calls.',
    examples: [
      'partnerctl completion bash > ~/.local/share/bash-completion/completions/partnerctl  # set it up in bash',
      'partnerctl completion zsh > ~/.zfunc/_partnerctl  # in zsh, in a directory of your fpath',
      'partnerctl completion fish > ~/.config/fish/completions/partnerctl.fish  # in fish',
      'partnerctl completion powershell > completion.ps1  # a script to dot-source in $PROFILE',
    ],
  })
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish', 'powershell']))
    .argument('[word...]', 'what the script passes, after --')
    .action(
      deferred(async (context, shell, words, ...[, command]) => {
        const { formatOffer, readTyped, SHELL_SCRIPTS } = await import('../cli/completion-shells.ts');
        if (words.length === 0) {
          const { readFileSync } = await import('node:fs');
          // The path also works from dist/program.
          const path = new URL(`../../completions/${SHELL_SCRIPTS[shell]}`, import.meta.url);
          return { kind: 'text', text: readFileSync(path, 'utf8') };
        }
        const { complete } = await import('../cli/completion.ts');
        const program = programOf(command);
        const typed = readTyped(shell, words);
        const offer = await complete(program, typed.before, typed.current, createFinder(context, program));
        return { kind: 'text', text: formatOffer(offer, typed) };
      }),
    );
