import { readFile, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Context } from '../cli/context.ts';
import { makeDirectories } from '../config/make-directories.ts';
import { describeFileError, errorCode, LocalError, UsageError } from '../errors.ts';
import {
  applyLine,
  type FileChange,
  type InstallSettings,
  installPaths,
  planLine,
  planScript,
} from './install-plan.ts';
import { replaceFile } from './replace-file.ts';
import { completionScript, SHELLS, type Shell } from './scripts.ts';

/** The result of `install`. */
export interface Installed {
  readonly shell: Shell;
  readonly status: 'installed' | 'unchanged' | 'planned';
  readonly changes: readonly FileChange[];
}

export interface InstallOptions {
  readonly shell: Shell | undefined;
  readonly rcFile: string | undefined;
  readonly yes: boolean;
  readonly dryRun: boolean;
}

/** Where systems install bash-completion, the library that loads completion scripts on demand. */
const BASH_COMPLETION = [
  '/usr/share/bash-completion/bash_completion',
  '/usr/local/share/bash-completion/bash_completion',
  '/opt/homebrew/share/bash-completion/bash_completion',
];

/**
 * Reads a file as Latin-1, which preserves every byte, because a startup file need not be UTF-8.
 * @throws LocalError also for a device: a startup file may be a link to /dev/null, which root could replace
 */
async function readBytes(file: string): Promise<string | undefined> {
  try {
    const status = await stat(file);
    if (!status.isFile() && !status.isDirectory()) throw new Error('it is not a regular file');
    return await readFile(file, 'latin1');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new LocalError(`${file} cannot be read.`, { why: describeFileError(error), cause: error });
  }
}

function toBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function findShell({ env, platform }: Pick<InstallSettings, 'env' | 'platform'>): Shell {
  const name = basename(env.SHELL ?? '').replace(/^pwsh$/, 'powershell');
  const shell = SHELLS.find((each) => each === name) ?? (platform === 'win32' ? 'powershell' : undefined);
  if (shell) return shell;
  throw new UsageError('Cannot tell the shell from SHELL.', { hint: `Name it with --shell: ${SHELLS.join(', ')}.` });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Plans the changes to the files. @throws LocalError if a file cannot be read, or is UTF-16 */
async function planChanges(shell: Shell, settings: InstallSettings): Promise<readonly FileChange[]> {
  const { script, rc } = installPaths(shell, settings);
  const planned = planScript(script, toBytes(completionScript(shell)), await readBytes(script));
  if (!rc) return [planned];
  const current = await readBytes(rc.file);
  const hasLibrary = (await Promise.all(BASH_COMPLETION.map(exists))).includes(true);
  if (hasLibrary && settings.rcFile === undefined && rc.isNeededUnless?.test(current ?? '')) return [planned];
  if (current?.startsWith('\xff\xfe')) {
    throw new LocalError(`Cannot add a line to ${rc.file}, because it is UTF-16.`, {
      hint: `Add this line yourself: ${rc.line}`,
    });
  }
  return [planned, planLine(rc.file, toBytes(rc.line), current)];
}

async function apply(change: FileChange, isScript: boolean): Promise<void> {
  const { file, text } = change;
  try {
    await makeDirectories(dirname(file));
    // The file may have changed while the prompt was open.
    const current = await readBytes(file);
    const next = isScript || current === undefined ? text : applyLine(current, change);
    await replaceFile(file, Buffer.from(next, 'latin1'), 0o644);
  } catch (error) {
    if (error instanceof LocalError) throw error;
    throw new LocalError(`${file} cannot be written.`, { why: describeFileError(error), cause: error });
  }
}

const DOES: Readonly<Record<FileChange['action'], string>> = {
  create: 'creates',
  append: 'adds a line to',
  replace: 'replaces its part of',
  none: 'leaves',
};

/** Describes the changes, and asks for confirmation. @throws UsageError without a terminal, or if the answer is no */
async function confirmChanges(context: Context, changes: readonly FileChange[]): Promise<void> {
  const files = changes.map(({ action, file }) => `${DOES[action]} ${file}`).join(', and ');
  if (!context.isInteractive) {
    throw new UsageError('completion install needs a confirmation, and there is no terminal to ask for it.', {
      why: `It ${files}. Nothing was changed.`,
      hint: 'Add --yes to confirm, or --dry-run to see the changes.',
    });
  }
  for (const { text, file } of changes) {
    if (text.trimEnd().includes('\n')) continue;
    await context.notice(`To ${file}:`);
    // As an excerpt, so that the line is not wrapped.
    await context.notice(`   | ${text.trimEnd()}`);
  }
  if (await context.confirm(`This ${files}. Continue?`)) return;
  throw new UsageError('Nothing was changed.', { hint: 'Run it again and answer y, or pass --yes.' });
}

/**
 * Sets up completion in a shell, after asking for confirmation. Repeating it changes nothing.
 * @throws UsageError if the shell is unknown, or if the user cannot be asked or declines; LocalError if a file cannot be read
 *   or written
 */
export async function install(context: Context, options: InstallOptions): Promise<Installed> {
  const { env, runtime } = context;
  const { home, platform } = runtime;
  const settings = { env, home, platform, rcFile: options.rcFile };
  const shell = options.shell ?? findShell(settings);
  const planned = await planChanges(shell, settings);
  const changes = planned.map((change) => ({ ...change, text: Buffer.from(change.text, 'latin1').toString('utf8') }));
  const due = planned.filter(({ action }) => action !== 'none');
  if (due.length === 0) return { shell, status: 'unchanged', changes };
  if (options.dryRun) return { shell, status: 'planned', changes };
  if (!options.yes)
    await confirmChanges(
      context,
      changes.filter(({ action }) => action !== 'none'),
    );
  for (const change of due) await apply(change, change === planned[0]);
  return { shell, status: 'installed', changes };
}
