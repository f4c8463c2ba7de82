import { Option } from '@commander-js/extra-typings';
import { deferred, defineCommand } from '../../cli/command.ts';
import { integer } from '../../cli/options.ts';
import { OutputError } from '../../errors.ts';
import type { StreamEvent } from '../../output/command-result.ts';
import type { ListenContext, ListenOptions } from '../../webhook/listen.ts';

async function* eventsOf(context: ListenContext, options: ListenOptions): AsyncGenerator<StreamEvent, void, void> {
  const { listen } = await import('../../webhook/listen.ts');
  const { toStreamEvent } = await import('./shared/delivery-view.ts');
  const { sessionColors } = await import('../chat/shared/messages.ts');
  const colorOf = sessionColors();
  for await (const event of listen(context, options)) {
    if (event.kind === 'listening') await context.notice('Listening for webhooks. Stop with Ctrl-C.');
    yield toStreamEvent(event, colorOf);
  }
}

export const listen = () =>
  defineCommand('listen', 'Receive, verify, and forward webhooks on this machine', {
    description:
      'Receives webhooks on a loopback address of this machine, and shows each delivery once. It can verify them with the secret from PARTNER_WEBHOOK_SECRET or --secret-file, save them, and forward them to a program, by https or on this machine; the sender repeats what the program does not accept. Stop it with Ctrl-C.',
    exits: ['notFound', 'service', 'noReply'],
    json: '{url}, then {delivery_id, received_at, verification, reason, forwarded, forward_status, message_id, session_id, source_id, role, text, created_at, saved, headers, body}',
    examples: [
      'partnerctl webhook listen  # shows the address to configure, then what arrives there',
      'partnerctl webhook listen --verify standard-webhooks --secret-file hook.key --forward-to http://localhost:3000/hooks  # a program on this machine gets what is verified',
      "partnerctl webhook listen --verify hmac --header X-Hub-Signature-256 --prefix 'sha256=' --save ./deliveries  # another signature; `webhook replay` sends the saved deliveries again",
    ],
  })
    .option('--port <n>', 'the port to listen on (default: a free one)', integer(0, 65_535))
    .option('--path <url-path>', 'the path to listen on (default: a random one that nobody can guess)')
    .option('--forward-to <url>', 'send each delivery on once, and answer the sender with the status of the response')
    .addOption(
      new Option('--verify <scheme>', 'how to verify deliveries')
        .choices(['none', 'standard-webhooks', 'hmac'])
        .default('none'),
    )
    .option('--secret-file <path>', 'read the secret from a file; several, one per line, are all valid')
    .option('--header <name>', 'hmac: the header with the signature')
    .option('--prefix <text>', 'hmac: the text before the signature, such as sha256=')
    .addOption(new Option('--encoding <encoding>', 'hmac: of the signature; hex by default').choices(['hex', 'base64']))
    .addOption(
      new Option('--algorithm <name>', 'hmac: the hash; sha256 by default').choices(['sha256', 'sha1', 'sha512']),
    )
    .option(
      '--signed-content <template>',
      'hmac: what is signed: {body}, {timestamp}, {id}; {timestamp:<header>} and {id:<header>} name the header (default: {body})',
    )
    .option('--save <dir>', 'save each delivery in this directory before responding')
    .option('--exit-after <n>', 'exit after n deliveries; 11 if fewer come within --timeout', integer(1, 1_000_000))
    .action(
      deferred(async (context, options) => {
        const { parseListen } = await import('../../webhook/listen.ts');
        const readerGone = new OutputError('The program that reads the output has ended.', {
          hint: 'What it did not get was not accepted, so its senders repeat it: start `webhook listen` again.',
        });
        return { kind: 'stream', events: eventsOf(context, parseListen(options)), readerGone };
      }),
    );
