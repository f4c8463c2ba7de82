import { command } from '../../cli/command.ts';
import { UsageError } from '../../errors.ts';
import { batchResult } from '../../output/batch-result.ts';
import type { Column } from '../../output/command-result.ts';
import type { ReplayResult } from '../../webhook/replay.ts';
import { parseTarget } from '../../webhook/target.ts';

interface Input {
  readonly paths: readonly string[];
  readonly url: URL;
}

const TONES = { sent: 'good', failed: 'bad', unknown: 'warn', skipped: 'dim' } as const;

const DEFAULT_RETRIES = 3;

const COLUMNS: readonly Column<ReplayResult>[] = [
  { header: 'DELIVERY_ID', value: ({ delivery_id }) => delivery_id, fit: 'middle' },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'HTTP', value: ({ http_status }) => http_status },
  { header: 'FILE', value: ({ file }) => file, fit: 'start' },
];

export default command<Input>({
  description:
    'Sends saved deliveries again, in the order of their arrival, with their exact bytes and headers. The timestamp and the signature are those of the original: a program that allows five minutes refuses older ones.',
  args: [{ usage: '<file|dir...>', description: 'what `webhook listen --save` wrote' }],
  flags: [{ usage: '--forward-to <url>', description: 'where to send them: https, or http on this machine' }],
  required: [{ oneOf: ['forward-to'], hint: 'Name the receiver: --forward-to http://localhost:3000/hooks' }],
  columns: COLUMNS,
  output: async () => (await import('../../output-schemas/webhooks.ts')).WEBHOOK_REPLAY,
  exits: ['notFound', 'service', 'partial'],
  examples: [
    {
      line: 'partnerctl webhook replay ./deliveries --forward-to http://localhost:3000/hooks',
      does: 'everything that was saved',
    },
  ],
  parse(args) {
    const url = parseTarget(args.required('forward-to'));
    if (args.positionals.includes('')) throw new UsageError('The name of a file or directory is empty.');
    return { paths: args.positionals, url };
  },
  async run(context, { paths, url }) {
    const [{ findDeliveries }, replay] = await Promise.all([
      import('../../webhook/saved-deliveries.ts'),
      import('../../webhook/replay.ts'),
    ]);
    const deliveries = await findDeliveries(paths);
    const retries = context.flags.retries ?? DEFAULT_RETRIES;
    return batchResult(replay.replayDeliveries(context, deliveries, { url, retries }), COLUMNS, {
      empty: 'Nothing to send.',
      json: replay.replayResultJson,
      summary: replay.summarizeReplay,
      failure: (results) => replay.replayFailure(results, context.signals.interrupt.reason),
    });
  },
});
