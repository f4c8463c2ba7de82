import pkg from '../../package.json' with { type: 'json' };
import { command, SERVICE_EXITS } from '../cli/command.ts';
import type { Check, CheckStatus } from '../doctor/check.ts';
import { diagnose, failureOf, summarize } from '../doctor/diagnose.ts';
import { gatherFacts } from '../doctor/gather.ts';
import { type Column, listResult, type ReportLine, type Tone } from '../output/command-result.ts';

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

const STATUS_WIDTH = Math.max(...Object.keys(TONES).map((status) => status.length));

function toReportLines({ name, status, message, hint }: Check): ReportLine[] {
  const lines: ReportLine[] = [
    {
      indent: 0,
      marker: status.padEnd(STATUS_WIDTH),
      text: [{ text: `${name}: ${message}`, tone: 'plain' }],
      tone: TONES[status],
    },
  ];
  return hint ? [...lines, { indent: STATUS_WIDTH + 1, text: hint }] : lines;
}

const MINIMUM_NODE = pkg.engines.node.replace(/^[^\d]*/, '');

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
    'Checks every setting and connection, and says what to do: the program and Node.js, the profiles, which service and token are used and which setting each comes from, proxy, DNS, connection, TLS, clock, token, scopes, balance, the contract, and the state. Sends only reads, and writes nothing at the service or in the state. Each call may take 10 seconds. Exits with 0 if no check failed (warnings are not failures), and otherwise with the code of the first check that failed: 1 for the state, Node.js, or a call that the service refuses, 2 for settings, 3 for the token, 4 if the base URL leads elsewhere (404), 6 for the balance, and 8 for the network, the service, or the contract.',
  columns: COLUMNS,
  output: async () => (await import('../output-schemas/network.ts')).DOCTOR,
  exits: SERVICE_EXITS,
  examples: [
    { line: 'partnerctl doctor', does: 'check everything' },
    { line: 'partnerctl doctor --profile acme', does: 'check what another profile needs' },
    { line: `partnerctl doctor -o json --query "checks[?status!='ok']"`, does: 'only what needs attention, as JSON' },
  ],
  parse: () => undefined,
  async run(context) {
    const checks = diagnose(await gatherFacts(context, MINIMUM_NODE), context.env.NODE_EXTRA_CA_CERTS);
    context.progress.stop();
    const summary = summarize(checks);
    return listResult(checks, COLUMNS, {
      empty: '',
      json: toJson,
      document: () => ({ checks: checks.map(toJson), summary }),
      report: () => [...checks.flatMap(toReportLines), { indent: 0, text: describeCounts(summary) }],
      failure: () => failureOf(checks),
    });
  },
});
