import { command, SERVICE_EXITS } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { UsageError } from '../../errors.ts';
import { type Column, listResult } from '../../output/command-result.ts';
import {
  deliveryFailure,
  describeLatestAttempt,
  findSandbox,
  type SandboxDelivery,
  triggerDelivery,
} from '../../webhook/trigger.ts';

const COLUMNS: readonly Column<SandboxDelivery>[] = [
  { header: 'DELIVERY', value: ({ delivery_id }) => delivery_id },
  { header: 'URL', value: ({ url }) => url },
  { header: 'STATUS', value: ({ status }) => status },
  { header: 'OUTCOME', value: describeLatestAttempt, fit: 'below' },
];

interface Input {
  readonly source: string | undefined;
  readonly session: string | undefined;
  readonly text: string | undefined;
  readonly to: string | undefined;
  readonly secretFile: string | undefined;
}

/** Reads the secret that signs a delivery to --to. Warns if there is none. @returns undefined without --to or a secret */
async function secretFor({ to, secretFile }: Input, context: Context): Promise<string | undefined> {
  if (to === undefined) return undefined;
  const { env, io, abortSignal } = context;
  const { readWebhookSecrets } = await import('../../config/webhook-secret.ts');
  const given = await readWebhookSecrets({ secretFile, env, stdin: () => io.stdin, signal: abortSignal });
  for (const secret of given?.secrets ?? []) context.addSecret(secret);
  const secret = given?.secrets[0];
  if (secret === undefined) {
    await context.warn('The delivery is not signed. Set PARTNER_WEBHOOK_SECRET or give --secret-file to sign it.');
  }
  return secret;
}

export default command<Input>({
  description:
    'Makes the sandbox deliver an assistant message, and waits for the first attempt. With --source, the message is added to a session of that source, where the history shows it, and goes to the webhook; without --source, it is a test message. Needs PARTNER_SANDBOX_URL and PARTNER_SANDBOX_KEY. Exits with 8 if the receiver does not respond with a 2xx; the sandbox then retries.',
  flags: [
    { usage: '--source <source_id>', description: 'the source of the message', defaultText: 'none: a test message' },
    { usage: '--session <session_id>', description: 'the session of the message', default: 'webhook-test' },
    { usage: '--text <text>', description: 'the text of the message', defaultText: 'a test' },
    { usage: '--to <url>', description: 'deliver to this URL of this machine instead of the configured webhook' },
    {
      usage: '--secret-file <path>',
      description:
        'with --to, read the secret to sign with from a file, or from standard input with - (PARTNER_WEBHOOK_SECRET holds the secret itself)',
    },
  ],
  columns: COLUMNS,
  exits: SERVICE_EXITS,
  examples: [
    { line: 'partnerctl webhook trigger', does: 'a test message, to the webhook of sandbox start --webhook' },
    {
      line: "partnerctl webhook trigger --source src_1 --session s-1 --text 'Your order is on its way.'",
      does: 'a message that chat tail shows too',
    },
    { line: 'partnerctl webhook trigger --to http://127.0.0.1:4000/hooks', does: 'to another receiver' },
  ],
  parse(args) {
    const to = args.value('to');
    const secretFile = args.value('secret-file');
    if (secretFile !== undefined && to === undefined) {
      throw new UsageError('--secret-file is for a delivery to --to, which is missing.', {
        hint: 'The configured webhook has a secret of its own. Add --to <url>, or remove --secret-file.',
      });
    }
    return { source: args.value('source'), session: args.value('session'), text: args.value('text'), to, secretFile };
  },
  async run(context, input) {
    const { env, clock, abortSignal } = context;
    const admin = findSandbox(env, await context.baseUrl());
    context.addSecret(admin.key);
    const secret = await secretFor(input, context);
    const { source: source_id, session: session_id, text, to: url } = input;
    context.progress.start('Waiting for the receiver');
    const trigger = { source_id, session_id, text, url, secret };
    const delivery = await triggerDelivery(admin, trigger, { clock, signal: abortSignal });
    return listResult([delivery], COLUMNS, {
      empty: 'Nothing was delivered.',
      failure: () => deliveryFailure(delivery),
    });
  },
});
