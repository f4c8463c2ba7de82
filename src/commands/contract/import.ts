import { createHash } from 'node:crypto';
import { type Args, command } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { readContractLayers, type StoredContract, updateContract } from '../../config/contract-file.ts';
import { findLeaf } from '../../config/find-leaf.ts';
import type { LeafName } from '../../contract/leaves.ts';
import { UsageError } from '../../errors.ts';
import { compareProposals, type ProposedChange } from '../../openapi/changes.ts';
import { type Column, type CommandResult, listResult, type Tone } from '../../output/command-result.ts';
import { parseSource, readProposals, readSource, type Source } from './shared/read-document.ts';

interface Input {
  readonly source: Source;
  readonly only: readonly LeafName[];
  readonly yes: boolean;
  readonly accept: boolean;
}

const TONES: Readonly<Record<ProposedChange['status'], Tone>> = {
  change: 'good',
  conflict: 'bad',
  overridden: 'warn',
};

const COLUMNS: readonly Column<ProposedChange>[] = [
  { header: 'LEAF', value: ({ leaf }) => leaf },
  { header: 'OLD', value: ({ old }) => old },
  { header: 'NEW', value: (change) => change.new },
  { header: 'SOURCE', value: ({ old_source }) => old_source, tone: () => 'dim' },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'EVIDENCE', value: ({ evidence }) => evidence, tone: () => 'dim', fit: 'below' },
];

function parse(args: Args): Input {
  return {
    source: parseSource(args.positionals[0] ?? ''),
    only: args.values('only').map(findLeaf),
    yes: args.isSet('yes'),
    accept: args.isSet('accept'),
  };
}

function count(number: number, one: string, several: string): string {
  return `${number} ${number === 1 ? one : several}`;
}

function withStatus(changes: readonly ProposedChange[], wanted: ProposedChange['status']): readonly ProposedChange[] {
  return changes.filter(({ status }) => status === wanted);
}

function conflictError(conflicts: readonly ProposedChange[]): UsageError {
  const values = count(conflicts.length, 'value of the document contradicts', 'values of the document contradict');
  return new UsageError(`${values} the specification. Nothing was written.`, {
    why: conflicts.map(({ leaf, old, new: value }) => `${leaf}: ${old} → ${value}`).join('\n'),
    hint: 'If the document is right, add --accept. To import only some of its values, add --only <leaf>.',
    details: { conflicts },
  });
}

/**
 * Decides whether to write: --yes, or a yes at the prompt, which shows the conflicts.
 * @throws UsageError for conflicts without --accept
 */
async function mayWrite(
  changes: readonly ProposedChange[],
  { yes, accept }: Input,
  context: Context,
): Promise<boolean> {
  const conflicts = accept ? [] : withStatus(changes, 'conflict');
  if (yes && conflicts.length > 0) throw conflictError(conflicts);
  if (yes || changes.length === 0 || !context.isInteractive) return yes;
  for (const { leaf, old, new: value, status } of changes) {
    const conflict = status === 'conflict' ? ' (contradicts the specification)' : '';
    await context.notice(`${leaf}: ${old} → ${value}${conflict}`);
  }
  const verb = conflicts.length === 1 ? 'contradicts' : 'contradict';
  const contradicting = conflicts.length === 0 ? '' : `, of which ${conflicts.length} ${verb} the specification`;
  return context.confirm(`Write ${count(changes.length, 'value', 'values')}${contradicting}?`);
}

/** @param unchanged how many of the written values the contract had already; undefined if nothing was written */
function summarize(changes: readonly ProposedChange[], unchanged: number | undefined): string {
  if (changes.length === 0) return 'Nothing to change: the contract agrees with the document.';
  const values = count(changes.length, 'value', 'values');
  if (unchanged === undefined) {
    const conflicts = withStatus(changes, 'conflict').length;
    const accept = conflicts > 0 ? `, and --accept for the ${conflicts} that contradict the specification` : '';
    return `Nothing was written. Add --yes to write ${values}${accept}.`;
  }
  const others = unchanged > 0 ? `, and ${count(unchanged, 'that agrees', 'that agree')} with the contract` : '';
  return `Wrote ${values}${others}. All imported values: partnerctl contract show --source imported`;
}

/** Says which overrides hide imported values. */
function summarizeOverridden(changes: readonly ProposedChange[]): string | undefined {
  const leaves = withStatus(changes, 'overridden').map(({ leaf }) => leaf);
  if (leaves.length === 0) return undefined;
  const stay = leaves.length === 1 ? 'stays as you set it' : 'stay as you set them';
  return `${leaves.join(', ')} ${stay}. To use the document: partnerctl contract unset ${leaves.length === 1 ? leaves[0] : '<leaf>'}`;
}

async function run(context: Context, input: Input): Promise<CommandResult> {
  const { config, clock } = context;
  const key = await context.contractKey();
  const source = await readSource(input.source, context);
  const { title, version, proposals, missing, questions } = await readProposals(source, new URL(key.baseUrl).pathname);
  const isWhole = input.only.length === 0;
  const chosen = proposals.filter(({ leaf }) => isWhole || input.only.includes(leaf));
  const layers = await readContractLayers(config.directory, key, context.warn);
  const { changes, confirmed } = compareProposals(chosen, layers, isWhole);
  const from = source.name;
  const sha256 = createHash('sha256').update(source.text).digest('hex');
  const isWritten = await mayWrite(changes, input, context);
  if (isWritten) {
    const values = Object.fromEntries(chosen.map(({ leaf, value }) => [leaf, value]));
    const document = { from, sha256, imported_at: new Date(clock.now()).toISOString() };
    const change = (stored: StoredContract) => ({
      ...stored,
      imported: isWhole ? values : { ...stored.imported, ...values },
      document,
    });
    await updateContract(config.directory, key, change, { clock, random: context.random, signal: context.abortSignal });
  }
  if (missing.length > 0) await context.notice(`open: the document has no operation for ${missing.join(', ')}`);
  for (const { message } of questions) await context.notice(`open: ${message}`);
  await context.notice(summarize(changes, isWritten ? confirmed.length : undefined));
  const overridden = summarizeOverridden(changes);
  if (overridden !== undefined) await context.notice(overridden);
  const document = { from, title: title ?? null, version: version ?? null, sha256 };
  return listResult(changes, COLUMNS, {
    empty: '',
    document: () => ({ document, written: isWritten, changes, confirmed, missing, questions }),
  });
}

export default command<Input>({
  description:
    "Reads the wire format from the service's OpenAPI 3.0 or 3.1 document (JSON or YAML) and shows what would change. Writes only with --yes, or after a yes at the prompt. Downloads the document without sending a token.",
  args: [
    {
      usage: '<file|url>',
      description:
        'the document: a file, - for standard input, an https URL, or the address of the service that publishes it',
    },
  ],
  flags: [
    { usage: '--yes', description: 'write the changes' },
    { usage: '--accept', description: 'also accept values that contradict the specification' },
    { usage: '--only <leaf>', description: 'import only this value; repeatable', repeatable: true },
  ],
  columns: COLUMNS,
  exits: ['credentials', 'notFound', 'service'],
  examples: [
    { line: 'partnerctl contract import openapi.json', does: 'show what the document would change' },
    { line: 'partnerctl contract import https://api.example.com/v1 --yes', does: 'import what the service publishes' },
    {
      line: 'partnerctl contract import openapi.yaml --yes --accept',
      does: 'also where it contradicts the specification',
    },
  ],
  parse,
  run,
});
