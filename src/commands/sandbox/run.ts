import { deferred } from '../../cli/command.ts';
import { UsageError } from '../../errors.ts';
import { sandboxLeaf } from './shared/options.ts';

export const runInSandbox = () =>
  sandboxLeaf('run', 'Run a command against a temporary sandbox', {
    description:
      'Starts a sandbox, runs a command against it, and exits with the exit code of the command. Sets for the command: PARTNER_BASE_URL and PARTNER_TOKEN; PARTNER_SANDBOX_URL and PARTNER_SANDBOX_KEY, for the admin API; PARTNER_STATE and PARTNER_CONFIG_DIR, a state and profiles of its own, in the directory of --data, else temporary; --state names another state; with --webhook, PARTNER_WEBHOOK_SECRET, the secret that signs deliveries. Unsets PARTNER_PROFILE. The prompt of an interactive sh or bash begins with (sandbox).',
    examples: [
      'partnerctl sandbox run -- partnerctl provision acme.yaml  # provision without a customer',
      'partnerctl sandbox run --data ./sandbox -- partnerctl spaces list  # with data that stay for the next time',
      "partnerctl sandbox run -- sh -c 'partnerctl provision acme.yaml && partnerctl spaces list'  # several commands against the same sandbox",
    ],
  })
    .argument('<command...>', 'the command and its arguments, after --')
    .action(
      deferred(async (context, [file, ...args], options) => {
        if (!file) {
          throw new UsageError('The command is missing.', { hint: 'Run: partnerctl sandbox run -- <command>' });
        }
        const { childEnvironment, makeLauncherDirectory, runChild } = await import('./shared/child.ts');
        const { startSandbox } = await import('./shared/start-sandbox.ts');
        const { sandbox } = await startSandbox(options, context);
        const directory = await makeLauncherDirectory(context);
        const env = await childEnvironment(sandbox, context, { directory, dataDir: options.data });
        return { kind: 'none', exitCode: await runChild(context, file, args, env) };
      }),
    );
