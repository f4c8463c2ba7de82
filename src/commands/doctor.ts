import pkg from '../../package.json' with { type: 'json' };
import { command, SERVICE_EXITS } from '../cli/command.ts';
import type { Check, CheckStatus } from '../doctor/check.ts';
import { diagnose, failureOf, summarize } from '../doctor/diagnose.ts';
import { gatherFacts } from '../doctor/gather.ts';
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

function toJson({ name, status, message, hint }: Check) {
  return { name, status, message, hint };
}

export default command({
  description:
    'Checks every setting and connection, and says what to do: the program and Node.js, the profiles, which service and token are used and which setting each comes from, proxy, DNS, connection, TLS, clock, token, scopes, balance, the contract, and the state. Sends only reads, and writes nothing at the service or in the state. Each call may take 10 seconds. Exits with 0 if nothing failed, also with warnings, and otherwise with the code of the first check that failed: 1 for the state or Node.js, 2 for settings, 3 for the token, 6 for the balance, 8 for the network, the service, or the contract.',
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
    const minimumNode = pkg.engines.node.replace(/^[^\d]*/, '');
    const facts = await gatherFacts(context, minimumNode);
    context.progress.stop();
    const checks = diagnose(facts, context.env.NODE_EXTRA_CA_CERTS);
    const summary = summarize(checks);
    return listResult(checks, COLUMNS, {
      empty: '',
      json: toJson,
      document: () => ({ checks: checks.map(toJson), summary }),
      summary: () =>
        `${Object.entries(summary)
          .map(([status, count]) => `${count} ${status}`)
          .join(', ')}.`,
      failure: () => failureOf(checks),
    });
  },
});
