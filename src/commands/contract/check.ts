import { checkContract } from '../../api/check-contract.ts';
import { type Args, command, SERVICE_EXITS } from '../../cli/command.ts';
import type { LeafCheck } from '../../contract/check-fields.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { ShapeError, UsageError } from '../../errors.ts';
import { type Column, listResult, type Tone } from '../../output/command-result.ts';
import { shellQuote } from '../../shell-quote.ts';

const TONES: Readonly<Record<LeafCheck['result'], Tone>> = {
  confirmed: 'good',
  contradicted: 'bad',
  unobservable: 'dim',
};

const COLUMNS: readonly Column<LeafCheck>[] = [
  { header: 'LEAF', value: ({ name }) => name },
  { header: 'RESULT', value: ({ result }) => result, tone: ({ result }) => TONES[result] },
  { header: 'VALUE', value: ({ value }) => value, fit: 'middle', isOptional: true },
  { header: 'SOURCE', value: ({ source }) => source, tone: () => 'dim', isOptional: true },
  { header: 'DETAIL', value: ({ detail }) => detail, fit: 'below' },
];

function parse(args: Args) {
  const source_id = args.value('source');
  const session_id = args.value('session');
  if ((source_id === undefined) !== (session_id === undefined)) {
    throw new UsageError('--source and --session must be used together: they name the history to read.');
  }
  return { session: source_id && session_id ? { source_id, session_id } : undefined };
}

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

export default command({
  description:
    'Compares the contract with the service, by reads only: lists the spaces, the agents of a space, and the scheduled jobs, and reads the history of a session if one is given. Exits with 8 if anything is contradicted.',
  flags: [
    { usage: '--source <source_id>', description: 'the source of the session whose history is read' },
    { usage: '--session <session_id>', description: 'the session whose history is read' },
  ],
  columns: COLUMNS,
  scopes: [SCOPE.readSpaces, SCOPE.readAgents, SCOPE.listJobs],
  exits: SERVICE_EXITS,
  examples: [
    { line: 'partnerctl contract check', does: 'check what the lists show' },
    { line: 'partnerctl contract check --source src_1 --session s-1', does: 'also check the history of a session' },
  ],
  parse,
  async run(context, { session }) {
    const http = await context.http();
    context.progress.start('Reading what the service has');
    const checks = await checkContract(http, session, () => context.clock.now());
    return listResult(inOrder(checks), COLUMNS, {
      json: ({ name, value, source, result, detail }) => ({ leaf: name, value, source, result, detail }),
      empty: '',
      summary: () => summarize(checks, session !== undefined),
      failure: () => contradiction(checks, http.baseUrl),
    });
  },
});
