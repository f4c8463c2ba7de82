import { leaf, run, SERVICE_EXITS } from '../../cli/leaf.ts';
import type { LeafCheck } from '../../contract/check-fields.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { ShapeError, UsageError } from '../../errors.ts';
import { type Column, listResult, type Tone } from '../../output/command-result.ts';
import { shellQuote } from '../../platform/shell-quote.ts';

const TONES: Readonly<Record<LeafCheck['result'], Tone>> = {
  confirmed: 'good',
  contradicted: 'bad',
  unobservable: 'dim',
};

const COLUMNS: readonly Column<LeafCheck>[] = [
  { header: 'LEAF', value: ({ name }) => name },
  { header: 'RESULT', value: ({ result }) => result, tone: ({ result }) => TONES[result] },
  { header: 'VALUE', value: ({ value }) => value, isOptional: true },
  { header: 'SOURCE', value: ({ source }) => source, tone: () => 'dim', isOptional: true },
  { header: 'DETAIL', value: ({ detail }) => detail, fit: 'below' },
];

function contradiction(checks: readonly LeafCheck[], baseUrl: string): ShapeError | undefined {
  const contradicted = checks.filter(({ result }) => result === 'contradicted');
  const [first] = contradicted;
  if (first === undefined) return undefined;
  const count = contradicted.length === 1 ? 'One value' : `${contradicted.length} values`;
  return new ShapeError(
    `${count} of the contract contradict${contradicted.length === 1 ? 's' : ''} what the service sends.`,
    {
      why: contradicted.map(({ name, detail }) => `${name}: ${detail}`).join('\n'),
      hint: `Set what the service uses with: partnerctl contract set ${first.name} <value>\nOr import its OpenAPI document with: partnerctl contract import ${shellQuote(baseUrl)}`,
      details: { contradicted: contradicted.map(({ name }) => name) },
    },
  );
}

const ORDER: readonly LeafCheck['result'][] = ['contradicted', 'confirmed', 'unobservable'];

function inOrder(checks: readonly LeafCheck[]): readonly LeafCheck[] {
  return checks.toSorted((left, right) => ORDER.indexOf(left.result) - ORDER.indexOf(right.result));
}

function summarize(checks: readonly LeafCheck[], hasSession: boolean): string {
  const count = (wanted: LeafCheck['result']) => checks.filter(({ result }) => result === wanted).length;
  const counts = `${count('confirmed')} confirmed, ${count('contradicted')} contradicted, ${count('unobservable')} not shown by any read.`;
  return hasSession ? counts : `${counts} --source and --session also check the history of a session.`;
}

export const check = () =>
  leaf('check', 'Compare the wire format with the service, by reads only', {
    description:
      'Compares the contract with the service, by reads only: lists the spaces, the agents of a space, and the scheduled jobs, and reads the history of a session if one is given. Exits with 8 if anything is contradicted.',
    scopes: [SCOPE.readSpaces, SCOPE.readAgents, SCOPE.listJobs],
    exits: SERVICE_EXITS,
    examples: [
      ['partnerctl contract check', 'check what the lists show'],
      ['partnerctl contract check --source src_1 --session s-1', 'also check the history of a session'],
    ],
  })
    .option('--source <source_id>', 'the source of the session whose history is read')
    .option('--session <session_id>', 'the session whose history is read')
    .action(
      run(async (context, { source: source_id, session: session_id }) => {
        if ((source_id === undefined) !== (session_id === undefined)) {
          throw new UsageError('--source and --session must be used together: they name the history to read.');
        }
        const session = source_id && session_id ? { source_id, session_id } : undefined;
        const { checkContract } = await import('../../api/check-contract.ts');
        const http = await context.http();
        context.progress.start('Reading what the service has');
        const checks = await checkContract(http, session, () => context.clock.now());
        return listResult(inOrder(checks), COLUMNS, {
          json: ({ name, value, source, result, detail }) => ({ leaf: name, value, source, result, detail }),
          empty: '',
          summary: () => summarize(checks, session !== undefined),
          failure: () => contradiction(checks, http.baseUrl),
        });
      }),
    );
