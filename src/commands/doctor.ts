import { deferred, defineCommand, fieldsOf } from '../cli/command.ts';
import type { Check } from '../doctor/checks.ts';
import { SERVICE_EXITS } from '../errors.ts';
import { countByStatus } from '../output/batch-result.ts';
import { type ReportLine, reportResult, type Tone } from '../output/command-result.ts';
import { describeError } from '../output/error-text.ts';

const TONES: Readonly<Record<Check['status'], Tone>> = { ok: 'good', warning: 'warn', failed: 'bad', skipped: 'dim' };

function describe({ message, failure }: Check): string {
  return message === failure?.message ? describeError(failure) : message;
}

function toJson(check: Check) {
  const { name, status, hint } = check;
  return { name, status, message: describe(check), hint };
}

/** The lines of a check; none for one that was not done: what prevented it has its own line. */
function toLines(check: Check): readonly ReportLine[] {
  const { name, status, hint } = check;
  if (status === 'skipped') return [];
  const marker = `${name.padEnd(10)}  ${status.padEnd(7)} `;
  const advice = hint === null ? [] : hint.split('\n');
  return [
    { indent: 0, marker, text: [{ text: describe(check), tone: 'plain' }], tone: TONES[status] },
    ...advice.map((text) => ({ indent: marker.length + 1, text })),
  ];
}

export const doctor = () =>
  defineCommand('doctor', 'Check every setting and connection, and say what to do', {
    description:
      'Checks every setting and connection, and says what to do: the program and Node.js, which service and token are used and which setting each comes from, the service (the connection, the token, the balance), the scopes for reading, the contract, and the state. Sends only reads, and writes nothing at the service or in the state. Each call may take 10 seconds. Exits with 0 if no check failed (warnings are not failures), and otherwise with the code of the first check that failed: 1 for the state or a call that the service refuses, 2 for settings, 3 for the token, 4 if the base URL leads elsewhere (404), 6 for the balance, and 8 for the network, the service, or the contract.',
    exits: SERVICE_EXITS,
    json: `{checks: [${fieldsOf<ReturnType<typeof toJson>>()('name, status, message, hint')}], summary}`,
    examples: [
      'partnerctl doctor  # check everything',
      'partnerctl doctor --profile acme  # check what another profile needs',
      `partnerctl doctor -o json --query "checks[?status!='ok']"  # only what needs attention, as JSON`,
    ],
  }).action(
    deferred(async (context) => {
      const { gatherFacts } = await import('../doctor/gather.ts');
      const { checkAll, failureOf } = await import('../doctor/checks.ts');
      const checks = checkAll(await gatherFacts(context));
      context.progress.stop();
      const json = { checks: checks.map(toJson), summary: countByStatus(checks, TONES) };
      return { ...reportResult(json, checks.flatMap(toLines)), failure: failureOf(checks) };
    }),
  );
