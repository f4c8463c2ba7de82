import type { Context } from '../../cli/context.ts';
import { leaf, run } from '../../cli/leaf.ts';
import { collect } from '../../cli/options.ts';
import { UsageError } from '../../errors.ts';
import type { ContractImport, ProposedChange } from '../../openapi/import.ts';
import { type Column, listResult, type Tone } from '../../output/command-result.ts';

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

function count(number: number, one: string, several: string): string {
  return `${number} ${number === 1 ? one : several}`;
}

function withStatus(changes: readonly ProposedChange[], wanted: ProposedChange['status']): readonly ProposedChange[] {
  return changes.filter(({ status }) => status === wanted);
}

function conflictError(conflicts: readonly ProposedChange[]): UsageError {
  const values = count(conflicts.length, 'value of the document contradicts', 'values of the document contradict');
  return new UsageError(`${values} the specification. Nothing was written.`, {
    why: conflicts.map(({ leaf: name, old, new: value }) => `${name}: ${old} → ${value}`).join('\n'),
    hint: 'If the document is right, add --accept. To import only some of its values, add --only <leaf>.',
    details: { conflicts },
  });
}

/** Shows the changes, and asks whether to write them. */
async function ask(
  context: Context,
  changes: readonly ProposedChange[],
  conflicts: readonly ProposedChange[],
): Promise<boolean> {
  for (const change of changes) {
    const conflict = conflicts.includes(change) ? ' (contradicts the specification)' : '';
    await context.notice(`${change.leaf}: ${change.old} → ${change.new}${conflict}`);
  }
  const contradicting = conflicts.length > 0 ? `, of which ${conflicts.length} contradict the specification` : '';
  return await context.confirm(`Write ${count(changes.length, 'value', 'values')}${contradicting}?`);
}

/** The notices about an import: what the document leaves open, what was written, and which overrides hide it. */
function noticesOf({ missing, questions, changes, confirmed }: ContractImport, isWritten: boolean): readonly string[] {
  const conflicts = withStatus(changes, 'conflict').length;
  const accept = conflicts > 0 ? `, and --accept for the ${conflicts} that contradict the specification` : '';
  const others =
    confirmed.length > 0 ? `, and ${count(confirmed.length, 'that agrees', 'that agree')} with the contract` : '';
  const values = count(changes.length, 'value', 'values');
  const wrote = `Wrote ${values}${others}. All imported values: partnerctl contract show --source imported`;
  const result = isWritten ? wrote : `Nothing was written. Add --yes to write ${values}${accept}.`;
  const hidden = withStatus(changes, 'overridden').map(({ leaf: name }) => name);
  return [
    ...(missing.length > 0 ? [`open: the document has no operation for ${missing.join(', ')}`] : []),
    ...questions.map(({ message }) => `open: ${message}`),
    changes.length === 0 ? 'Nothing to change: the contract agrees with the document.' : result,
    ...(hidden.length > 0
      ? [
          `Overrides stay in force. To use the document: ${hidden.map((name) => `partnerctl contract unset ${name}`).join('; ')}`,
        ]
      : []),
  ];
}

export const importDocument = () =>
  leaf('import', "Read the wire format from the service's OpenAPI document", {
    description:
      "Reads the wire format from the service's OpenAPI 3.0 or 3.1 document (JSON or YAML) and shows what would change. Writes only with --yes, or after a yes at the prompt. Downloads the document without sending a token.",
    exits: ['credentials', 'notFound', 'service'],
    examples: [
      'partnerctl contract import openapi.json  # show what the document would change',
      'partnerctl contract import https://api.example.com/v1 --yes  # import what the service publishes',
      'partnerctl contract import openapi.yaml --yes --accept  # also where it contradicts the specification',
    ],
  })
    .argument(
      '<file|url>',
      'the document: a file, - for standard input, an https URL, or the address of the service that publishes it',
    )
    .option('--yes', 'write the changes')
    .option('--accept', 'also accept values that contradict the specification')
    .option('--only <leaf>', 'import only this value; repeatable', collect, [])
    .action(
      run(async (context, typed, { yes = false, accept = false, only }) => {
        const { refuseTokenOnStdin } = await import('../../cli/input.ts');
        const { findLeaf } = await import('../../config/contract-settings.ts');
        const { readImport } = await import('../../openapi/import.ts');
        const { parseSource } = await import('../../openapi/source.ts');
        if (typed === '-') refuseTokenOnStdin(context.flags, 'document');
        const found = await readImport(context, parseSource(typed), only.map(findLeaf));
        const { document, changes, confirmed, missing, questions } = found;
        const conflicts = accept ? [] : withStatus(changes, 'conflict');
        if (yes && conflicts.length > 0) throw conflictError(conflicts);
        const written =
          yes || (changes.length > 0 && context.isInteractive && (await ask(context, changes, conflicts)));
        if (written) await found.write();
        for (const notice of noticesOf(found, written)) await context.notice(notice);
        return listResult(changes, COLUMNS, {
          empty: '',
          document: () => ({ document, written, changes, confirmed, missing, questions }),
        });
      }),
    );
