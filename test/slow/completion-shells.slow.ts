import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { hasTmux, inTmux, type TmuxScreen } from '../support/tmux.ts';

function has(shell: string): boolean {
  return hasTmux && spawnSync(shell, ['--version']).status === 0;
}

/** A space with a name that a shell would run if it were not quoted. */
const MANIFEST = `
external_space_id: acme-001
space: { name: '$(touch ~/pwned) it is "A"', description: x, is_org_wide: false }
agents:
  - { template_id: tmpl_support, name: Support Team }
`;

/** Where each shell reads the script when it starts. */
const STARTUP: Readonly<Record<string, string>> = {
  bash: 'partnerctl completion bash > ~/.bashrc',
  zsh: 'echo "autoload -U compinit; compinit; source <(partnerctl completion zsh)" > ~/.zshrc',
  fish: 'mkdir -p ~/.config/fish/completions; partnerctl completion fish > ~/.config/fish/completions/partnerctl.fish',
};

/** Starts a new shell that has read the script, in a sandbox that has the space of the manifest. */
async function openShell(shell: string, home: string): Promise<TmuxScreen> {
  await mkdir(join(home, 'bin'));
  await symlink(PROGRAM, join(home, 'bin', 'partnerctl'));
  await writeFile(join(home, 'acme.yaml'), MANIFEST);
  const setup = [
    'set -e',
    'cd "$HOME"',
    'export PATH="$HOME/bin:$PATH"',
    'partnerctl provision acme.yaml > provisioned',
    'partnerctl spaces list > listed',
    STARTUP[shell] ?? '',
    'clear',
    'echo ready',
    `exec ${shell}`,
  ];
  await writeFile(join(home, 'setup.sh'), setup.join('\n'));
  const screen = await inTmux(['sandbox', 'run', '--', 'sh', join(home, 'setup.sh')], { HOME: home, LANG: 'C.UTF-8' });
  await screen.screen(/^ready[\s\S]*[#$%>]$/m);
  return screen;
}

describe.each(['bash', 'zsh', 'fish'])('in a new %s', (shell) => {
  test.skipIf(!has(shell))(
    'Tab completes commands, flags, values, files, and live ids, and runs none of them',
    async () => {
      const home = tempDirectory();
      const { keys, screen } = await openShell(shell, home);
      /** Types parts of a line, with Tab after each of them, waits for the completed line, and runs it. */
      const complete = async (parts: readonly string[], line: RegExp, output: RegExp): Promise<void> => {
        await keys('C-l');
        for (const part of parts) await keys('-l', '--', `${part}\t`);
        await screen(line);
        await keys('Enter');
        await screen(output);
      };
      await complete(['partnerctl spa', 'li', '--outp', 'js'], /partnerctl spaces list --output[ =]json/, /"space_id"/);
      await complete(['partnerctl agents li', 'ext:ac'], /partnerctl agents list ext:acme-001/, /Support Team/);
      await complete(['partnerctl agents list name:'], /agents list .*touch/, /Support Team/);
      // The quote is open at the Tab, and the name has blanks and quotes.
      await complete([`partnerctl agents list "name:`], /agents list "name:.*touch/, /Support Team/);
      await complete([`partnerctl agents list 'name:`], /agents list 'name:.*touch/, /Support Team/);
      await complete(
        ['partnerctl plan ac'],
        /partnerctl plan acme\.yaml/,
        /[Nn]othing to|up to date|unchanged|no change/,
      );
      await keys('C-l');
      await keys('-l', '--', 'partnerctl chat send "$(touch ~/pwned)" --sou\t');
      await screen(/touch ~\/pwned\)"\s+--source/);
      await keys('C-u');
      expect(existsSync(join(home, 'pwned')), 'what was typed, or a name, was run').toBe(false);
    },
  );
});
