import { leaf, run } from '../../cli/leaf.ts';

export const replay = () =>
  leaf('replay', 'Send saved webhooks again', {
    description:
      'Sends saved deliveries again, in the order of their arrival, with their exact bytes and headers. The timestamp and the signature are those of the original: a program that allows five minutes refuses older ones.',
    required: [{ oneOf: ['--forward-to'], hint: 'Name the receiver: --forward-to http://localhost:3000/hooks' }],
    exits: ['notFound', 'service', 'partial'],
    examples: [
      'partnerctl webhook replay ./deliveries --forward-to http://localhost:3000/hooks  # everything that was saved',
    ],
  })
    .argument('<file|dir...>', 'what `webhook listen --save` wrote')
    .option('--forward-to <url>', 'where to send them: https, or http on this machine')
    .action(
      run(async (context, paths, { forwardTo = '' }) => {
        const { replayDeliveries } = await import('../../webhook/replay.ts');
        const { toReplayList } = await import('./shared/replay-view.ts');
        const results = await replayDeliveries(context, paths, forwardTo);
        return toReplayList(results, context);
      }),
    );
