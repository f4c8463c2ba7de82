import pkg from '../../package.json' with { type: 'json' };
import type { TraceEvent } from '../api/attempt.ts';
import { type Args, command, SERVICE_EXITS } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import type { SeenExchange } from '../doctor/bundle/exchange.ts';
import type { BundleRequest, SavedBundle } from '../doctor/bundle/save-bundle.ts';
import type { Check, CheckStatus } from '../doctor/check.ts';
import { diagnose, failureOf, summarize } from '../doctor/diagnose.ts';
import { gatherFacts } from '../doctor/gather.ts';
import { UsageError } from '../errors.ts';
import { type Column, listResult, type Tone } from '../output/command-result.ts';

const TONES: Readonly<Record<CheckStatus, Tone>> = { ok: 'good', warning: 'warn', failed: 'bad', skipped: 'dim' };

const COLUMNS: readonly Column<Check>[] = [
  { header: 'CHECK', value: ({ name }) => name },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  {
    header: 'FOUND',
    value: ({ message }) => message,
    tone: ({ status }) => (status === 'skipped' ? 'dim' : undefined),
  },
  { header: 'WHAT TO DO', value: ({ hint }) => hint, fit: 'below' },
];

const MINIMUM_NODE = pkg.engines.node.replace(/^[^\d]*/, '');

function parse(args: Args): BundleRequest | undefined {
  const [path, include, isForced] = [args.value('bundle'), args.value('include'), args.isSet('force')];
  if (path === '') throw new UsageError('--bundle is empty.', { hint: 'Check the shell variable it comes from.' });
  if (path !== undefined) return { path, include, isForced };
  const flag = include !== undefined ? '--include' : isForced ? '--force' : undefined;
  if (flag !== undefined) throw new UsageError(`${flag} needs --bundle.`);
  return undefined;
}

interface Examination {
  readonly checks: readonly Check[];
  readonly bundle: { readonly saved: SavedBundle; readonly description: string } | undefined;
}

async function examine(context: Context): Promise<Examination> {
  const facts = await gatherFacts(context, MINIMUM_NODE, () => undefined);
  return { checks: diagnose(facts, context.env.NODE_EXTRA_CA_CERTS), bundle: undefined };
}

async function examineAndBundle(context: Context, request: BundleRequest): Promise<Examination> {
  const [{ toSeenExchange }, { readIncluded, saveBundle }, { refuseOverwriting }] = await Promise.all([
    import('../doctor/bundle/exchange.ts'),
    import('../doctor/bundle/save-bundle.ts'),
    import('../doctor/bundle/write-bundle.ts'),
  ]);
  await refuseOverwriting(request.path, request.isForced);
  const trace = request.include === undefined ? undefined : await readIncluded(request.include, context);
  const seen: { readonly event: TraceEvent; readonly at: number }[] = [];
  const facts = await gatherFacts(context, MINIMUM_NODE, (event) => seen.push({ event, at: context.clock.now() }));
  const checks = diagnose(facts, context.env.NODE_EXTRA_CA_CERTS);
  context.progress.stop();
  const basePath = facts.settings.value ? new URL(facts.settings.value.baseUrl.value).pathname.replace(/\/$/, '') : '';
  const exchanges: SeenExchange[] = seen.flatMap(
    ({ event, at }) => toSeenExchange(event, { basePath, at, redact: context.redact }) ?? [],
  );
  return { checks, bundle: await saveBundle(context, request, { facts, checks, exchanges }, trace) };
}

function describeCounts(summary: ReturnType<typeof summarize>): string {
  const plural = (status: string, count: number) => (status === 'warning' && count !== 1 ? 'warnings' : status);
  const counts = Object.entries(summary).map(([status, count]) => `${count} ${plural(status, count)}`);
  return `${counts.join(', ')}.`;
}

function toJson({ name, status, message, hint }: Check) {
  return { name, status, message, hint };
}

export default command({
  description:
    'Checks every setting and connection, and says what to do: the program and Node.js, the profiles, which service and token are used and which setting each comes from, proxy, DNS, connection, TLS, clock, token, scopes, balance, the contract, and the state. Sends only reads, and writes nothing at the service or in the state. Each call may take 10 seconds. Exits with 0 if no check failed (warnings are not failures), and otherwise with the code of the first check that failed: 1 for the state, Node.js, or a call that the service refuses, 2 for settings, 3 for the token, 4 if the base URL leads elsewhere (404), 6 for the balance, and 8 for the network, the service, or the contract. --bundle also writes the findings to a file for support, without secrets, names, and texts.',
  flags: [
    { usage: '--bundle <file>', description: 'also write a redacted support file (NDJSON)' },
    {
      usage: '--include <trace>',
      description: 'add the requests that --debug-file recorded, redacted in the same way',
    },
    { usage: '--force', description: 'replace the file of --bundle if it exists' },
  ],
  columns: COLUMNS,
  output: async () => (await import('../output-schemas/network.ts')).DOCTOR,
  exits: SERVICE_EXITS,
  examples: [
    { line: 'partnerctl doctor', does: 'check everything' },
    { line: 'partnerctl doctor --profile acme', does: 'check what another profile needs' },
    { line: `partnerctl doctor -o json --query "checks[?status!='ok']"`, does: 'only what needs attention, as JSON' },
    { line: 'partnerctl doctor --bundle support.ndjson', does: 'also write a file for support' },
  ],
  parse,
  async run(context, request) {
    const { checks, bundle } = await (request ? examineAndBundle(context, request) : examine(context));
    context.progress.stop();
    const summary = summarize(checks);
    return listResult(checks, COLUMNS, {
      empty: '',
      json: toJson,
      document: () => ({ checks: checks.map(toJson), summary, ...(bundle && { bundle: bundle.saved }) }),
      summary: () => [describeCounts(summary), ...(bundle ? [bundle.description] : [])].join('\n'),
      failure: () => failureOf(checks),
    });
  },
});
