import { command } from '../../cli/command.ts';
import { proxyFor } from '../../config/proxy.ts';
import { type PartnerctlError, UsageError } from '../../errors.ts';
import { type BatchItem, batchFailure } from '../../output/batch-failure.ts';
import { batchResult, countByStatus, formatCounts } from '../../output/batch-result.ts';
import type { Column } from '../../output/command-result.ts';
import { toErrorObject } from '../../output/error-object.ts';
import type { ReplayResult } from '../../webhook/replay.ts';
import { parseTarget, Target } from '../../webhook/target.ts';

interface Input {
  readonly paths: readonly string[];
  readonly url: URL;
}

const TONES = { sent: 'good', failed: 'bad', unknown: 'warn', skipped: 'dim' } as const;

const DEFAULT_RETRIES = 3;

const COLUMNS: readonly Column<ReplayResult>[] = [
  { header: 'DELIVERY_ID', value: ({ delivery_id }) => delivery_id },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'HTTP', value: ({ http_status }) => http_status },
  { header: 'FILE', value: ({ file }) => file, fit: 'start' },
];

function toJson({ file, delivery_id, status, http_status, error }: ReplayResult): unknown {
  return { file, delivery_id, status, http_status, error: error ? toErrorObject(error) : null };
}

function summarize(results: readonly ReplayResult[]): string {
  return formatCounts(countByStatus(results, { sent: 0, failed: 0, unknown: 0, skipped: 0 }));
}

const OUTCOMES = { sent: 'done', failed: 'failed', unknown: 'skipped', skipped: 'skipped' } as const;

function failureOf(results: readonly ReplayResult[], interruption: unknown): PartnerctlError | undefined {
  const items = results.map(
    ({ file, status, error }): BatchItem => ({ label: file, outcome: OUTCOMES[status], error }),
  );
  const isAnyUnknown = results.some(({ status }) => status === 'unknown');
  const unknownNote = isAnyUnknown ? ' Deliveries with status unknown may have arrived.' : '';
  const hint = `Run the command again with the files that were not sent.${unknownNote}`;
  const messages = {
    noun: 'deliveries',
    summary: summarize(results),
    details: { results: results.map(toJson) },
    resumeHint: hint,
    fixHint: hint,
  };
  return batchFailure(items, messages, interruption);
}

export default command<Input>({
  description:
    'Sends saved deliveries again, in the order of their arrival, with their exact bytes and headers. The timestamp and the signature are those of the original: a program that allows five minutes refuses older ones.',
  args: [{ usage: '<file|dir...>', description: 'what `webhook listen --save` wrote' }],
  flags: [{ usage: '--forward-to <url>', description: 'where to send them: https, or http on this machine' }],
  required: [{ oneOf: ['forward-to'], hint: 'Name the receiver: --forward-to http://localhost:3000/hooks' }],
  columns: COLUMNS,
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
    const [{ findDeliveries }, { replayDeliveries }] = await Promise.all([
      import('../../webhook/saved-delivery.ts'),
      import('../../webhook/replay.ts'),
    ]);
    const { abortSignal: signal, clock, random, env, flags, signals } = context;
    const target = new Target(url, proxyFor(url.href, env), clock);
    const deps = { clock, random, signal, target, retries: flags.retries ?? DEFAULT_RETRIES };
    return batchResult(replayDeliveries(await findDeliveries(paths), deps), COLUMNS, {
      empty: 'Nothing to send.',
      json: toJson,
      summary: summarize,
      failure: (results) => failureOf(results, signals.interrupt.reason),
    });
  },
});
