import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { command } from '../../cli/command.ts';
import { runChild } from '../../cli/run-child.ts';
import { parseSandboxOptions, SANDBOX_FLAGS, type SandboxInput, startFromOptions } from '../../cli/sandbox-options.ts';
import { UsageError } from '../../errors.ts';
import { shellQuote } from '../../shell-quote.ts';

interface Input extends SandboxInput {
  readonly commandLine: readonly string[];
}

/** Writes `partnerctl` scripts that start this program. @param self the command of this program @returns the directory for PATH */
async function createLauncher(directory: string, self: readonly string[]): Promise<string> {
  const { mkdir, writeFile } = await import('node:fs/promises');
  const bin = join(directory, 'bin');
  await mkdir(bin);
  const posix = self.map(shellQuote).join(' ');
  await writeFile(join(bin, 'partnerctl'), `#!/bin/sh\nexec ${posix} "$@"\n`, { mode: 0o755 });
  const windows = self.map((arg) => `"${arg}"`).join(' ');
  await writeFile(join(bin, 'partnerctl.cmd'), `@${windows} %*\r\n`);
  return bin;
}

export default command<Input>({
  description:
    'Starts a sandbox, runs a command against it (PARTNER_BASE_URL and PARTNER_TOKEN are set), and exits with the exit code of the command. PARTNER_SANDBOX_URL and PARTNER_SANDBOX_KEY give access to the admin API. With --webhook, PARTNER_WEBHOOK_SECRET is the secret of its deliveries. The state file is temporary unless PARTNER_STATE names one.',
  args: [{ usage: '<command...>', description: 'the command and its arguments, after --' }],
  flags: SANDBOX_FLAGS,
  output: async () => (await import('../../output-schemas/sandbox.ts')).SANDBOX_RUN,
  exits: [],
  examples: [
    { line: 'partnerctl sandbox run -- partnerctl provision acme.yaml', does: 'rehearse a rollout' },
    {
      line: "partnerctl sandbox run -- sh -c 'partnerctl provision acme.yaml && partnerctl spaces list'",
      does: 'several commands against the same sandbox',
    },
    { line: 'partnerctl sandbox run --shape camel -- partnerctl spaces list', does: 'a sandbox of another dialect' },
    { line: 'partnerctl sandbox run --replay support.ndjson -- partnerctl doctor', does: 'see what a customer saw' },
  ],
  parse: (args) => ({ ...parseSandboxOptions(args), commandLine: args.positionals }),
  async run(context, { commandLine, ...input }) {
    const [file, ...args] = commandLine;
    if (file === undefined) {
      throw new UsageError('The command is missing.', { hint: 'Run: partnerctl sandbox run -- <command>' });
    }
    const { mkdtemp, rm } = await import('node:fs/promises');
    const directory = await mkdtemp(join(tmpdir(), 'partnerctl-sandbox-'));
    try {
      const { sandbox, configDirectory, close } = await startFromOptions(input, context);
      try {
        for (const unmatched of sandbox.unmatchedFaults) await context.warn(unmatched);
        const path = [await createLauncher(directory, context.selfCommand), context.env.PATH];
        const env = {
          PARTNER_STATE: join(directory, 'state.jsonl'),
          ...context.env,
          PARTNER_BASE_URL: sandbox.baseUrl,
          PARTNER_TOKEN: await sandbox.defaultToken(),
          PARTNER_SANDBOX_URL: sandbox.adminUrl,
          PARTNER_SANDBOX_KEY: sandbox.adminKey,
          ...(configDirectory !== undefined && { PARTNER_CONFIG_DIR: configDirectory, PARTNER_PROFILE: undefined }),
          ...(input.webhook !== undefined && { PARTNER_WEBHOOK_SECRET: sandbox.webhookSecrets.join('\n') }),
          // An empty entry would mean the current directory.
          PATH: path.filter(Boolean).join(delimiter),
        };
        return { kind: 'none', exitCode: await runChild(context, file, args, env) };
      } finally {
        await close();
      }
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
});
