import { deferred, defineCommand } from '../../cli/command.ts';
import { SERVICE_EXITS } from '../../errors.ts';
import { recordResult } from '../../output/command-result.ts';

export const trigger = () =>
  defineCommand('trigger', 'Make the sandbox send a webhook', {
    description:
      'Makes the sandbox deliver an assistant message, and waits for the first attempt. With --source, the message is added to a session of that source, where the history shows it, and goes to the webhook; without --source, it is a test message. Needs PARTNER_SANDBOX_URL and PARTNER_SANDBOX_KEY. Exits with 8 if the receiver does not respond with a 2xx; the sandbox then retries.',
    exits: SERVICE_EXITS,
    json: '{delivery_id, url, status, …}',
    examples: [
      'partnerctl webhook trigger  # a test message, to the webhook of sandbox start --webhook',
      "partnerctl webhook trigger --source src_1 --session s-1 --text 'Your order is on its way.'  # a message that chat tail shows too",
      'partnerctl webhook trigger --to http://127.0.0.1:4000/hooks  # to another receiver',
    ],
  })
    .option('--source <source_id>', 'the source of the message; without it, a test message is sent')
    .option('--session <session_id>', 'the session of the message (default: webhook-test)')
    .option('--text <text>', 'the text of the message (default: a test)')
    .option('--to <url>', 'deliver to this URL of this machine instead, signed with PARTNER_WEBHOOK_SECRET')
    .action(
      deferred(async (context, options) => {
        const { trigger } = await import('../../webhook/trigger.ts');
        const { delivery, outcome, failure } = await trigger(context, options);
        const { delivery_id, url, status } = delivery;
        return { ...recordResult({ delivery_id, url, status, outcome }, delivery), failure };
      }),
    );
