import { defineCommand, type Meta } from '../../../cli/command.ts';

/** Creates a command that starts a sandbox, with the options for it. */
export const sandboxLeaf = (name: string, summary: string, meta: Meta) =>
  defineCommand(name, summary, meta)
    .option('--data <dir>', 'store the data in this directory, not in memory')
    .option('--faults <file>', 'a JSON file of faults to inject: {"rules":[{"kind":"status","status":503,"rate":0.1}]}')
    .option(
      '--script <file>',
      'a YAML or JSON file that says how agents reply, in place of an echo: [{"pattern":"hello","replies":[{"text":"Hi!"}]}]',
    )
    .option(
      '--webhook <url>',
      'deliver each completed assistant message to this URL of this machine, signed with PARTNER_WEBHOOK_SECRET or a new secret',
    );

/** What these options say, and --port of `sandbox start`. */
export type SandboxOptionValues = ReturnType<ReturnType<typeof sandboxLeaf>['opts']> & {
  readonly port?: number | undefined;
};
