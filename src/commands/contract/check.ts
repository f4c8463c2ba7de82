import { deferred, defineCommand } from '../../cli/command.ts';
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

/** What needs action first. */
function toLines(checks: readonly LeafCheck[]): readonly ReportLine[] {
  const ordered = (['contradicted', 'unobservable', 'confirmed'] as const).flatMap((each) => withResult(checks, each));
  return ordered.map(({ name, result, detail }) => {
    const [marker, tone] = MARKERS[result];
    return { indent: 0, marker: marker.padEnd(14), tone, text: [{ text: `${name}: ${detail}`, tone: 'plain' }] };
  });
}

export const check = () =>
  defineCommand('check', 'Compare the wire format with the service, by reads only', {
    description:
      'Compares the contract with the service, by reads only: lists the spaces, the agents of a space, and the scheduled jobs, and shows what they tell of the contract. Exits with 8 if anything is contradicted.',
    scopes: [OPERATIONS.listSpaces.scope, OPERATIONS.listAgents.scope, OPERATIONS.listCronJobs.scope],
    json: '[{leaf, value, source, result, detail}]',
    examples: [
      'partnerctl contract check  # check what the lists show',
      `partnerctl contract check -o json --query "[?result=='contradicted']"  # what has to be set, as JSON`,
      'partnerctl contract check -v  # with the requests it makes',
    ],
  }).action(
    deferred(async (context) => {
      const { checkContract } = await import('../../doctor/check-contract.ts');
      const http = await context.http();
      context.progress.start('Reading what the service has');
      const checks = await checkContract(http);
      context.progress.stop();
      return listResult(checks, [], {
        json: ({ name, value, source, result, detail }) => ({ leaf: name, value, source, result, detail }),
        report: () => toLines(checks),
        failure: () => contradiction(checks, http.baseUrl),
      });
    }),
  );
