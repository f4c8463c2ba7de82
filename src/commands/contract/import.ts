import { leaf, run } from '../../cli/leaf.ts';
import { UsageError } from '../../errors.ts';
import type { ImportedChange } from '../../openapi/import.ts';
import { type Column, listResult, type Tone } from '../../output/command-result.ts';

const TONES: Readonly<Record<ImportedChange['status'], Tone>> = { change: 'good', conflict: 'bad' };

const COLUMNS: readonly Column<ImportedChange>[] = [
  { header: 'LEAF', value: ({ leaf }) => leaf },
  { header: 'OLD', value: ({ old }) => old },
  { header: 'NEW', value: (change) => change.new },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'EVIDENCE', value: ({ evidence }) => evidence, tone: () => 'dim', isNote: true },
];

function conflictError(conflicts: readonly ImportedChange[]): UsageError {
  return new UsageError('The document contradicts the specification. Nothing was written.', {
    why: conflicts.map(({ leaf: name, old, new: value }) => `${name}: ${old} → ${value}`).join('\n'),
    hint: 'If the document is right, add --accept.',
    details: { conflicts },
  });
}

function describeOutcome(number: number, isWritten: boolean): string {
  if (number === 0) return 'Nothing to change: the contract agrees with the document.';
  return isWritten
    ? 'Written. All imported values: partnerctl contract show --source imported'
    : 'Nothing was written. To write the values, add --yes.';
}

export const importDocument = () =>
  leaf('import', "Read the wire format from the service's OpenAPI document", {
    description:
      "Reads the wire format from the service's OpenAPI 3.0, 3.1, or 3.2 document (JSON or YAML) and shows what would change. Writes only with --yes; what was imported before is replaced. Downloads the document without sending a token.",
    exits: ['credentials', 'notFound', 'service'],
    json: '{document, written, changes: [{leaf, old, new, status, evidence}], questions, warnings}',
    examples: [
      'partnerctl contract import openapi.json  # show what the document would change',
      'partnerctl contract import https://api.example.com/v1 --yes  # import what the service publishes',
      'partnerctl contract import openapi.yaml --yes --accept  # also where it contradicts the specification',
    ],
  })
    .argument('<file|url>', 'a file, - for standard input, an https URL, or the address of the service')
    .option('--yes', 'write the changes')
    .option('--accept', 'also accept values that contradict the specification')
    .action(
      run(async (context, typed, { yes = false, accept = false }) => {
        const { readImport } = await import('../../openapi/import.ts');
        const { document, changes, questions, warnings, write } = await readImport(context, typed);
        const conflicts = changes.filter(({ status }) => status === 'conflict');
        if (yes && !accept && conflicts.length > 0) throw conflictError(conflicts);
        if (yes) await write();
        for (const warning of warnings) await context.warn(warning);
        for (const question of questions) await context.notice(`open: ${question}`);
        await context.notice(describeOutcome(changes.length, yes));
        return listResult(changes, COLUMNS, {
          document: () => ({ document, written: yes, changes, questions, warnings }),
        });
      }),
    );
