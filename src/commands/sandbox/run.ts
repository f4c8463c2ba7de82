import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { command } from '../../cli/command.ts';
import { runChild } from '../../cli/run-child.ts';
import { SANDBOX_FLAGS, type SandboxInput, sandboxInput, startFor } from '../../cli/sandbox-options.ts';
import { UsageError } from '../../errors.ts';

interface Input extends SandboxInput {
  readonly line: readonly string[];
}

/** Puts this program into a directory under its own name, so that the command finds it, and finds this very version. */
async function linkSelf(directory: string, self: readonly string[]): Promise<string> {
  const { mkdir, writeFile } = await import('node:fs/promises');
  const bin = join(directory, 'bin');
  await mkdir(bin);
  const posix = self.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  await writeFile(join(bin, 'partnerctl'), `#!/bin/sh\nexec ${posix} "$@"\n`, { mode: 0o755 });
  const windows = self.map((word) => `"${word}"`).join(' ');
  await writeFile(join(bin, 'partnerctl.cmd'), `@${windows} %*\r\n`);
  return bin;
}

export default command<Input>({
  description:
    'Starts a sandbox, runs a command with PARTNER_BASE_URL and PARTNER_TOKEN set to it, and ends with the exit code of the command. PARTNER_SANDBOX_URL and PARTNER_SANDBOX_KEY open the admin surface; the state file is a temporary one unless PARTNER_STATE names another.',
  args: [{ usage: '<command...>', description: 'the command and its arguments, after --' }],
  flags: SANDBOX_FLAGS,
  examples: [
    { line: 'partnerctl sandbox run -- partnerctl provision acme.yaml', does: 'rehearse a roll-out' },
    {
      line: "partnerctl sandbox run -- sh -c 'partnerctl provision acme.yaml && partnerctl spaces list'",
      does: 'several commands against the same sandbox',
    },
  ],
  parse: (words) => ({ ...sandboxInput(words), line: words.positionals }),
  async run(context, { line, ...input }) {
    const [file, ...args] = line;
    if (file === undefined)
      throw new UsageError('No command is given.', { hint: 'partnerctl sandbox run -- <command>' });
    const { mkdtemp, rm } = await import('node:fs/promises');
    const directory = await mkdtemp(join(tmpdir(), 'partnerctl-sandbox-'));
    try {
      const sandbox = await startFor(input);
      try {
        const env = {
          PARTNER_STATE: join(directory, 'state.jsonl'),
          ...context.env,
          PARTNER_BASE_URL: sandbox.baseUrl,
          PARTNER_TOKEN: await sandbox.createToken(),
          PARTNER_SANDBOX_URL: sandbox.adminUrl,
          PARTNER_SANDBOX_KEY: sandbox.adminKey,
          // An empty part of a PATH would be the current directory.
          PATH: [await linkSelf(directory, context.selfCommand), context.env.PATH].filter(Boolean).join(delimiter),
        };
        return { kind: 'none', exitCode: await runChild(context, file, args, env) };
      } finally {
        await sandbox.close();
      }
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
});
