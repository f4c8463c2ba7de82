import { leaf, run } from '../../cli/leaf.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import type { LeafCheck } from '../../doctor/check-contract.ts';
import { ShapeError } from '../../errors.ts';
import { listResult, type ReportLine, type Tone } from '../../output/command-result.ts';
import { shellQuote } from '../../platform/text.ts';

const MARKERS: Readonly<Record<LeafCheck['result'], readonly [string, Tone]>> = {
  confirmed: ['confirmed', 'good'],
  contradicted: ['contradicted', 'bad'],
  unobservable: ['not observable', 'warn'],
};

const withResult = (checks: readonly LeafCheck[], wanted: LeafCheck['result']) =>
  checks.filter(({ result }) => result === wanted);

function contradiction(checks: readonly LeafCheck[], baseUrl: string): ShapeError | undefined {
  const contradicted = withResult(checks, 'contradicted').map(({ name }) => name);
  const [first] = contradicted;
  if (first === undefined) return undefined;
  return new ShapeError(`The service contradicts the contract: ${contradicted.join(', ')}.`, {
    hint: `Set what the service uses with: partnerctl contract set ${first} <value>\nOr import its OpenAPI document with: partnerctl contract import ${shellQuote(baseUrl)}`,
    details: { contradicted },
  });
}

/** What needs action first; what no read shows is counted. */
function toLines(checks: readonly LeafCheck[], hasSession: boolean): readonly ReportLine[] {
  const notable = withResult(checks, 'unobservable').filter(({ isNotable }) => isNotable);
  const seen = [...withResult(checks, 'contradicted'), ...notable, ...withResult(checks, 'confirmed')];
  const lines = seen.map(({ name, result, detail }): ReportLine => {
    const [marker, tone] = MARKERS[result];
    return { indent: 0, marker: marker.padEnd(14), tone, text: [{ text: `${name}: ${detail}`, tone: 'plain' }] };
  });
  const count = checks.length - seen.length;
  const more = hasSession ? '' : ' --source and --session also check the history of a session.';
  return [...lines, { indent: 0, text: `${count} not shown by any read (-o json lists them).${more}`, tone: 'dim' }];
}

export const check = () =>
  leaf('check', 'Compare the wire format with the service, by reads only', {
    description:
      'Compares the contract with the service, by reads only: lists the spaces, the agents of a space, and the scheduled jobs, and reads the history of a session if one is given. Exits with 8 if anything is contradicted.',
    scopes: [OPERATIONS.listSpaces.scope, OPERATIONS.listAgents.scope, OPERATIONS.listCronJobs.scope],
    required: [
      { oneOf: ['--session'], when: ['--source'] },
      { oneOf: ['--source'], when: ['--session'] },
    ],
    json: '[{leaf, value, source, result, detail}]',
    examples: [
      'partnerctl contract check  # check what the lists show',
      'partnerctl contract check --source src_1 --session s-1  # also check the history of a session',
    ],
  })
    .option('--source <source_id>', 'the source of the session whose history is read')
    .option('--session <session_id>', 'the session whose history is read')
    .action(
      run(async (context, { source: source_id, session: session_id }) => {
        const session = source_id && session_id ? { source_id, session_id } : undefined;
        const { checkContract } = await import('../../doctor/check-contract.ts');
        const http = await context.http();
        context.progress.start('Reading what the service has');
        const checks = await checkContract(http, session);
        context.progress.stop();
        return listResult(checks, [], {
          json: ({ name, value, source, result, detail }) => ({ leaf: name, value, source, result, detail }),
          report: () => toLines(checks, session !== undefined),
          failure: () => contradiction(checks, http.baseUrl),
        });
      }),
    );
