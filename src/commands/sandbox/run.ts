import { command } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { runChild } from '../../run-child.ts';
import { SANDBOX_FLAGS, type SandboxInput, sandboxInput, startFor } from '../../sandbox-options.ts';

interface Input extends SandboxInput {
  readonly line: readonly string[];
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
  input: (words) => ({ ...sandboxInput(words), line: words.args }),
  async run(context, { line, ...input }) {
    const [file, ...args] = line;
    if (file === undefined)
      throw new UsageError('No command is given.', { hint: 'partnerctl sandbox run -- <command>' });
    const [{ mkdtemp, rm }, { tmpdir }, { join }] = await Promise.all([
      import('node:fs/promises'),
      import('node:os'),
      import('node:path'),
    ]);
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
