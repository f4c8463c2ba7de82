import { delimiter, join, resolve } from 'node:path';
import { command } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { runChild } from '../../cli/run-child.ts';
import {
  announceSandbox,
  parseSandboxOptions,
  SANDBOX_FLAGS,
  type SandboxInput,
  startFromOptions,
} from '../../cli/sandbox-options.ts';
import { makeTemporaryDirectory } from '../../config/temporary-file.ts';
import { UsageError } from '../../errors.ts';
import type { Environment } from '../../platform/io.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import { shellQuote } from '../../shell-quote.ts';

interface Input extends SandboxInput {
  readonly commandLine: readonly string[];
}

/**
 * Writes `partnerctl` scripts that start this program.
 * @param self the command that starts it
 */
async function createLauncher(directory: string, self: readonly string[]): Promise<void> {
  const { mkdir, writeFile } = await import('node:fs/promises');
  const bin = join(directory, 'bin');
  await mkdir(bin);
  const posix = self.map(shellQuote).join(' ');
  await writeFile(join(bin, 'partnerctl'), `#!/bin/sh\nexec ${posix} "$@"\n`, { mode: 0o755 });
  const windows = self.map((arg) => `"${arg}"`).join(' ');
  await writeFile(join(bin, 'partnerctl.cmd'), `@${windows} %*\r\n`);
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
  const { writeFile } = await import('node:fs/promises');
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

/** Returns the environment of the command, in which service, token, profiles, and state are those of the sandbox. */
async function childEnvironment(
  sandbox: Sandbox,
  input: SandboxInput,
  context: Context,
  directory: string,
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
    ...(input.webhook !== undefined && { PARTNER_WEBHOOK_SECRET: sandbox.webhookSecret }),
    // An empty entry would mean the current directory.
    PATH: path.filter(Boolean).join(delimiter),
  };
}

export default command<Input>({
  description:
    'Starts a sandbox, runs a command against it, and exits with the exit code of the command. Sets for the command: PARTNER_BASE_URL and PARTNER_TOKEN; PARTNER_SANDBOX_URL and PARTNER_SANDBOX_KEY, for the admin API; PARTNER_STATE, a temporary state file unless --state names another one; PARTNER_CONFIG_DIR, a temporary directory of profiles; with --webhook, PARTNER_WEBHOOK_SECRET, the secret that signs deliveries. Unsets PARTNER_PROFILE. The prompt of an interactive sh, bash, or zsh begins with (sandbox).',
  args: [{ usage: '<command...>', description: 'the command and its arguments, after --' }],
  flags: SANDBOX_FLAGS,
  exits: [],
  examples: [
    { line: 'partnerctl sandbox run -- partnerctl provision acme.yaml', does: 'rehearse a rollout' },
    {
      line: "partnerctl sandbox run -- sh -c 'partnerctl provision acme.yaml && partnerctl spaces list'",
      does: 'several commands against the same sandbox',
    },
  ],
  parse: (args) => ({ ...parseSandboxOptions(args), commandLine: args.positionals }),
  async run(context, { commandLine, ...input }) {
    const [file, ...args] = commandLine;
    if (!file) {
      throw new UsageError('The command is missing.', { hint: 'Run: partnerctl sandbox run -- <command>' });
    }
    const { rm } = await import('node:fs/promises');
    const directory = await makeTemporaryDirectory('sandbox', (made) => createLauncher(made, context.selfCommand));
    try {
      const started = await startFromOptions(input, context);
      try {
        const env = await childEnvironment(started.sandbox, input, context, directory);
        await announceSandbox(context, input, started, file);
        return { kind: 'none', exitCode: await runChild(context, file, args, env) };
      } finally {
        await started.sandbox.close();
      }
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
});
