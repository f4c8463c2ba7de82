import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import type { Context } from '../../../cli/context.ts';
import { describeFileError, LocalError } from '../../../errors.ts';
import type { Environment } from '../../../platform/io.ts';
import { shellQuote } from '../../../platform/text.ts';
import type { Sandbox } from '../../../sandbox/index.ts';

/**
 * Creates a temporary directory that only its owner can read, with `partnerctl` scripts in it. The caller removes it.
 * @param self the command that starts this program
 * @throws LocalError if it cannot be written
 */
export async function makeLauncherDirectory(self: readonly string[]): Promise<string> {
  try {
    const directory = await mkdtemp(join(tmpdir(), 'partnerctl-sandbox-'));
    const bin = join(directory, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'partnerctl'), `#!/bin/sh\nexec ${self.map(shellQuote).join(' ')} "$@"\n`, {
      mode: 0o755,
    });
    await writeFile(join(bin, 'partnerctl.cmd'), `@${self.map((arg) => `"${arg}"`).join(' ')} %*\r\n`);
    return directory;
  } catch (error) {
    throw new LocalError(`A temporary directory cannot be made in ${tmpdir()}.`, {
      why: describeFileError(error),
      hint: 'If it is full or missing, set TMPDIR to another directory.',
      cause: error,
    });
  }
}

/** Marks the prompt of an interactive shell: sh takes PS1 from the environment, and bash runs PROMPT_COMMAND. */
function promptMark({ env, io }: Context): Environment {
  if (!io.stdin.isTTY) return {};
  // Again before each prompt, which may be set anew each time.
  const mark = 'PS1="(sandbox) ${PS1#\\(sandbox\\) }"';
  return { PS1: '(sandbox) $ ', PROMPT_COMMAND: [env.PROMPT_COMMAND, mark].filter(Boolean).join('; ') };
}

/** The state for the command: never that of the environment or a profile. @throws UsageError for an invalid --state */
async function findState({ flags, stateLocation }: Context, directory: string): Promise<string> {
  if (flags.state === undefined) return join(directory, 'state.jsonl');
  const { kind, address } = await stateLocation();
  return kind === 'file' ? resolve(address) : address;
}

/**
 * Returns the environment of the command, in which service, token, profiles, and state are those of the sandbox.
 * @param directory holds the launchers, and what the command writes
 * @throws UsageError if --state is invalid
 */
export async function childEnvironment(sandbox: Sandbox, context: Context, directory: string): Promise<Environment> {
  // An empty entry would mean the current directory.
  const path = [join(directory, 'bin'), context.env.PATH].filter(Boolean);
  return {
    ...context.env,
    ...promptMark(context),
    PARTNER_STATE: await findState(context, directory),
    PARTNER_PROFILE: undefined,
    PARTNER_CONFIG_DIR: join(directory, 'config'),
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_TOKEN: sandbox.token,
    PARTNER_SANDBOX_URL: sandbox.adminUrl,
    PARTNER_SANDBOX_KEY: sandbox.adminKey,
    ...(sandbox.webhookSecret && { PARTNER_WEBHOOK_SECRET: sandbox.webhookSecret }),
    PATH: path.join(delimiter),
  };
}
