import { deferred, defineCommand } from '../../cli/command.ts';
import { type Batch, batchResult, countByStatus } from '../../output/batch-result.ts';
import type { Column } from '../../output/command-result.ts';
import { errorJson } from '../../output/error-text.ts';
import type { ReplayResult } from '../../webhook/replay.ts';

const TONES = { sent: 'good', failed: 'bad', skipped: 'dim' } as const;

const COLUMNS: readonly Column<ReplayResult>[] = [
  { header: 'DELIVERY_ID', value: ({ delivery_id }) => delivery_id },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'HTTP', value: ({ http_status }) => http_status },
  { header: 'FILE', value: ({ file }) => file, fit: 'start' },
];

const BATCH: Batch<ReplayResult> = {
  columns: COLUMNS,
  noun: 'deliveries',
  again: 'Run the command again with the files that were not sent.',
  item: ({ file, status, error }) => ({ name: file, status, error, isUnfinished: status === 'skipped' }),
  json: ({ index: _, error, ...result }) => ({ ...result, error: errorJson(error) }),
  counts: (results) => countByStatus(results, TONES),
};

export const replay = () =>
  defineCommand('replay', 'Send saved webhooks again', {
    description:
      'Sends saved deliveries again, once each and in the order of their arrival, with their exact bytes and headers. The timestamp and the signature are those of the original: a program that allows five minutes refuses older ones.',
    required: [{ oneOf: ['--forward-to'], hint: 'Name the receiver: --forward-to http://localhost:3000/hooks' }],
    exits: ['service', 'partial'],
    json: '[{file, delivery_id, status, http_status, error}]',
    examples: [
      'partnerctl webhook replay ./deliveries --forward-to http://localhost:3000/hooks  # everything that was saved',
      'partnerctl webhook replay ./deliveries/20260105T0800*.json --forward-to http://localhost:3000/hooks  # what arrived in one minute',
      `partnerctl webhook replay ./deliveries --forward-to http://localhost:3000/hooks -o json --query "[?status!='sent'].file"  # the files that were not sent, for a script`,
    ],
  })
    .argument('<file|dir...>', 'what `webhook listen --save` wrote')
    .option('--forward-to <url>', 'where to send them: https, or http on this machine')
    .action(
      deferred(async (context, paths, { forwardTo = '' }) => {
        const { replayDeliveries } = await import('../../webhook/replay.ts');
        const results = await replayDeliveries(context, paths, forwardTo);
        return batchResult(results, BATCH, context.signals);
      }),
    );
