import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import type { Context } from '../../../cli/context.ts';
import { describeFileError, LocalError, UsageError } from '../../../errors.ts';
import type { Environment } from '../../../platform/io.ts';
import { shellQuote } from '../../../platform/text.ts';
import type { Sandbox } from '../../../sandbox/index.ts';
import { stateLocation } from '../../../state/location.ts';

/**
 * Creates a temporary directory that only its owner can read, with `partnerctl` scripts in it. It is removed when the
 * command ends.
 * @throws LocalError
 */
export async function makeLauncherDirectory({ runtime: { selfCommand: self }, closers }: Context): Promise<string> {
  try {
    const directory = await mkdtemp(join(tmpdir(), 'partnerctl-sandbox-'));
    closers.push(() => rm(directory, { recursive: true, force: true }));
    const bin = join(directory, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'partnerctl'), `#!/bin/sh\nexec ${self.map(shellQuote).join(' ')} "$@"\n`, {
      mode: 0o755,
    });
    await writeFile(join(bin, 'partnerctl.cmd'), `@${self.map((arg) => `"${arg}"`).join(' ')} %*\r\n`);
    return directory;
  } catch (error) {
    const info = { why: describeFileError(error), cause: error };
    throw new LocalError(`A temporary directory cannot be made in ${tmpdir()}.`, info);
  }
}

/** Marks the prompt of an interactive shell: sh takes PS1 from the environment, and bash runs PROMPT_COMMAND. */
function promptMark({ env, io }: Context): Environment {
  if (!io.stdin.isTTY) return {};
  // Again before each prompt, which may be set anew each time.
  const mark = 'PS1="(sandbox) ${PS1#\\(sandbox\\) }"';
  return { PS1: '(sandbox) $ ', PROMPT_COMMAND: [env.PROMPT_COMMAND, mark].filter(Boolean).join('; ') };
}

/**
 * Returns what commands need so that service, token, profiles, and state are those of a sandbox: never those of the
 * environment or a profile.
 * @param directory of the profiles, and of the state unless --state names another
 * @param secret of the webhook, if it may be shown
 * @throws UsageError if --state is invalid
 */
export async function sandboxVariables(
  { baseUrl, token, adminUrl, adminKey }: Sandbox,
  context: Context,
  directory: string,
  secret: string | undefined,
) {
  const given = context.flags.state === undefined ? undefined : stateLocation(context);
  const state = given?.address ?? join(directory, 'state.jsonl');
  return {
    PARTNER_BASE_URL: baseUrl,
    PARTNER_TOKEN: token,
    PARTNER_SANDBOX_URL: adminUrl,
    PARTNER_SANDBOX_KEY: adminKey,
    PARTNER_STATE: given && given.kind !== 'file' ? state : resolve(state),
    PARTNER_CONFIG_DIR: resolve(directory, 'config'),
    ...(secret !== undefined && { PARTNER_WEBHOOK_SECRET: secret }),
  };
}

/**
 * Returns the environment of the command.
 * @param directory holds the launchers, and what the command writes unless there is a `dataDir`
 * @throws UsageError if --state is invalid
 */
export async function childEnvironment(
  sandbox: Sandbox,
  context: Context,
  { directory, dataDir = directory }: { readonly directory: string; readonly dataDir?: string | undefined },
): Promise<Environment> {
  // An empty entry would mean the current directory.
  const path = [join(directory, 'bin'), context.env.PATH].filter(Boolean);
  return {
    ...context.env,
    ...promptMark(context),
    PARTNER_PROFILE: undefined,
    ...(await sandboxVariables(sandbox, context, dataDir, sandbox.webhookSecret)),
    PATH: path.join(delimiter),
  };
}

/**
 * Runs a child process that shares our stdin, stdout, and stderr. Forwards our signals to it, and ends it at --timeout.
 * @returns its exit code, or 128 plus the number of the signal that ended it, as in a shell
 * @throws UsageError if the command cannot be started; LocalError at --timeout; InterruptedError
 */
export async function runChild(
  { io, signals, abortSignal }: Context,
  file: string,
  args: readonly string[],
  env: Environment,
): Promise<number> {
  const child = spawn(file, args, { stdio: 'inherit', env, signal: abortSignal });
  const release = signals.takeOver((signal) => {
    // The terminal also sends Ctrl-C to the child. Many programs treat a second one as "quit immediately".
    if (signal !== 'SIGINT' || io.stdin.isTTY !== true) child.kill(signal);
  });
  try {
    await once(child, 'exit');
    const { exitCode, signalCode } = child;
    return exitCode ?? 128 + (signalCode ? constants.signals[signalCode] : 0);
  } catch (error) {
    abortSignal.throwIfAborted();
    throw new UsageError(`Cannot start ${JSON.stringify(file)}.`, { why: describeFileError(error), cause: error });
  } finally {
    release();
  }
}
