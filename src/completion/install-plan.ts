import { isAbsolute, join } from 'node:path';
import type { Environment } from '../platform/io.ts';
import { shellQuote } from '../shell-quote.ts';
import { quoteForPowerShell } from './format.ts';
import type { Shell } from './scripts.ts';

/** A change to a file. */
export interface FileChange {
  readonly file: string;
  /** `append` adds the text at the end; `replace` replaces the script, or the line that an earlier install added. */
  readonly action: 'create' | 'append' | 'replace' | 'none';
  readonly text: string;
}

/** What determines where the script is installed. */
export interface InstallSettings {
  readonly env: Environment;
  readonly home: string;
  readonly platform: NodeJS.Platform;
  /** The startup file of the shell, if it is not the usual one. */
  readonly rcFile: string | undefined;
}

/** Where the script is installed, and the line that loads it when a shell starts. */
export interface InstallPaths {
  readonly script: string;
  /** Undefined if the shell finds the script itself. */
  readonly rc: { readonly file: string; readonly line: string; readonly isNeededUnless?: RegExp } | undefined;
}

/** Marks the line for the next install. */
const MARK = '# partnerctl completion';

function directory(env: Environment, name: string, fallback: string): string {
  const value = env[name];
  return value && isAbsolute(value) ? value : fallback;
}

function powerShellPaths({ env, home, platform, rcFile }: InstallSettings): InstallPaths {
  const isWindows = platform === 'win32';
  const data = isWindows
    ? (env.LOCALAPPDATA ?? join(home, 'AppData', 'Local'))
    : directory(env, 'XDG_DATA_HOME', join(home, '.local', 'share'));
  const config = isWindows
    ? join(home, 'Documents', 'PowerShell')
    : join(directory(env, 'XDG_CONFIG_HOME', join(home, '.config')), 'powershell');
  const script = join(data, 'partnerctl', 'partnerctl.ps1');
  const file = rcFile ?? join(config, 'Microsoft.PowerShell_profile.ps1');
  return { script, rc: { file, line: `. ${quoteForPowerShell(script)}  ${MARK}` } };
}

/** Returns where to install the script of a shell. Pure. */
export function installPaths(shell: Shell, settings: InstallSettings): InstallPaths {
  const { env, home, platform, rcFile } = settings;
  const data = directory(env, 'XDG_DATA_HOME', join(home, '.local', 'share'));
  switch (shell) {
    case 'fish': {
      const config = directory(env, 'XDG_CONFIG_HOME', join(home, '.config'));
      return { script: join(config, 'fish', 'completions', 'partnerctl.fish'), rc: undefined };
    }
    case 'zsh': {
      const script = join(data, 'zsh', 'site-functions', '_partnerctl');
      const compinit = '(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }';
      const file = rcFile ?? join(env.ZDOTDIR || home, '.zshrc');
      return { script, rc: { file, line: `${compinit}; source ${shellQuote(script)}  ${MARK}` } };
    }
    case 'bash': {
      const userDirectory = env.BASH_COMPLETION_USER_DIR || join(data, 'bash-completion');
      const script = join(userDirectory, 'completions', 'partnerctl');
      const file = rcFile ?? join(home, platform === 'darwin' ? '.bash_profile' : '.bashrc');
      // A startup file with this loads the library bash-completion, which finds the script.
      const isNeededUnless = /^[^#\n]*bash_completion/m;
      return { script, rc: { file, line: `. ${shellQuote(script)}  ${MARK}`, isNeededUnless } };
    }
    case 'powershell':
      return powerShellPaths(settings);
  }
}

/** Plans the change of the script file. @param current its content; undefined if it does not exist */
export function planScript(file: string, script: string, current: string | undefined): FileChange {
  if (current === undefined) return { file, action: 'create', text: script };
  return { file, action: current === script ? 'none' : 'replace', text: script };
}

/** Plans the change of the shell's startup file. @param current its content; undefined if it does not exist */
export function planLine(file: string, line: string, current: string | undefined): FileChange {
  if (current === undefined) return { file, action: 'create', text: `${line}\n` };
  const own = findOwnLine(current);
  if (own === line) return { file, action: 'none', text: line };
  return { file, action: own === undefined ? 'append' : 'replace', text: line };
}

function findOwnLine(text: string): string | undefined {
  return text.split(/\r?\n/).find((line) => line.trimEnd().endsWith(MARK));
}

/** Returns the content of a startup file after a change. Keeps all other bytes. */
export function applyLine(current: string, { action, text }: FileChange): string {
  const own = findOwnLine(current);
  if (action === 'replace' && own !== undefined) return current.replace(own, () => text);
  const lineEnd = current.includes('\r\n') ? '\r\n' : '\n';
  const start = current === '' || current.endsWith('\n') ? '' : lineEnd;
  return `${current}${start}${text}${lineEnd}`;
}
