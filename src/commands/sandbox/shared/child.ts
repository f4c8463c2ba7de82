import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import type { Context } from '../../../cli/context.ts';
import { describeFileError, LocalError } from '../../../errors.ts';
import type { Environment } from '../../../platform/io.ts';
import { shellQuote } from '../../../platform/shell-quote.ts';
import type { Sandbox } from '../../../sandbox/index.ts';

/** Writes `partnerctl` scripts that start this program. @param self the command that starts it */
async function writeLaunchers(directory: string, self: readonly string[]): Promise<void> {
  const bin = join(directory, 'bin');
  await mkdir(bin);
  const posix = self.map(shellQuote).join(' ');
  await writeFile(join(bin, 'partnerctl'), `#!/bin/sh\nexec ${posix} "$@"\n`, { mode: 0o755 });
  const windows = self.map((arg) => `"${arg}"`).join(' ');
  await writeFile(join(bin, 'partnerctl.cmd'), `@${windows} %*\r\n`);
}

/**
 * Creates a temporary directory that only its owner can read, with `partnerctl` scripts in it. The caller removes it.
 * @param self the command that starts this program
 * @throws LocalError if it cannot be written
 */
export async function makeLauncherDirectory(self: readonly string[]): Promise<string> {
  let directory: string | undefined;
  try {
    directory = await mkdtemp(join(tmpdir(), 'partnerctl-sandbox-'));
    await writeLaunchers(directory, self);
    return directory;
  } catch (error) {
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
    throw new LocalError(`A temporary directory cannot be made in ${tmpdir()}.`, {
      why: describeFileError(error),
      hint: 'If it is full or missing, set TMPDIR to another directory.',
      cause: error,
    });
  }
}

/** Adds the mark to the prompt again before each one: a prompt may be set anew each time. */
const MARK_PROMPT = 'PS1="(sandbox) ${PS1#\\(sandbox\\) }"';

/**
 * Marks the prompt of an interactive shell: sh takes PS1 from the environment, bash runs PROMPT_COMMAND, and zsh reads the
 * `.zshenv` of ZDOTDIR, which leads back to the user's own.
 * @returns variables for its environment
 */
async function markPrompt({ env, io }: Context, directory: string): Promise<Environment> {
  if (!io.stdin.isTTY) return {};
  const zshenv = `ZDOTDIR=${env.ZDOTDIR ? shellQuote(env.ZDOTDIR) : '$HOME'}
[ ! -f "$ZDOTDIR/.zshenv" ] || . "$ZDOTDIR/.zshenv"
mark_sandbox() { ${MARK_PROMPT} }
precmd_functions+=(mark_sandbox)
`;
  await writeFile(join(directory, '.zshenv'), zshenv);
  const command = [env.PROMPT_COMMAND, MARK_PROMPT].filter(Boolean).join('; ');
  return { PS1: '(sandbox) $ ', PROMPT_COMMAND: command, ZDOTDIR: directory };
}

/** Returns the state for the command: never that of the environment or a profile. @throws UsageError if --state is invalid */
async function findState({ flags, stateLocation }: Context, directory: string): Promise<string> {
  if (flags.state === undefined) return join(directory, 'state.jsonl');
  const { kind, address } = await stateLocation();
  return kind === 'file' ? resolve(address) : address;
}

/**
 * Returns the environment of the command, in which service, token, profiles, and state are those of the sandbox.
 * @param directory holds the launchers, and what the command writes
 * @param hasWebhook whether the sandbox delivers webhooks
 * @throws UsageError if --state is invalid
 */
export async function childEnvironment(
  sandbox: Sandbox,
  context: Context,
  directory: string,
  hasWebhook: boolean,
): Promise<Environment> {
  const path = [join(directory, 'bin'), context.env.PATH];
  return {
    ...context.env,
    ...(await markPrompt(context, directory)),
    PARTNER_STATE: await findState(context, directory),
    PARTNER_PROFILE: undefined,
    PARTNER_CONFIG_DIR: join(directory, 'config'),
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_TOKEN: sandbox.token,
    PARTNER_SANDBOX_URL: sandbox.adminUrl,
    PARTNER_SANDBOX_KEY: sandbox.adminKey,
    ...(hasWebhook && { PARTNER_WEBHOOK_SECRET: sandbox.webhookSecret }),
    // An empty entry would mean the current directory.
    PATH: path.filter(Boolean).join(delimiter),
  };
}

/**
 * Tells the user at a terminal that a command runs against a sandbox, because a program such as `bash` does not show it.
 * @param dataDir where the sandbox keeps its data, if not in memory
 */
export async function announceSandbox(
  { io, flags, notice }: Context,
  { baseUrl }: Sandbox,
  command: string,
  dataDir: string | undefined,
): Promise<void> {
  if (!io.stderr.isTTY) return;
  const kept = [dataDir && `its data (${dataDir})`, flags.state && `the state (${flags.state})`].filter(Boolean);
  const end =
    kept.length === 0
      ? 'everything in the sandbox is gone'
      : `${kept.join(' and ')} ${kept.length === 1 ? 'stays' : 'stay'}, and nothing else`;
  await notice(`Sandbox: the service is ${baseUrl}, not the real one. When ${command} ends, ${end}.`);
}
