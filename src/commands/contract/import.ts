import { deferred, defineCommand } from '../../cli/command.ts';
import type { ImportedChange } from '../../openapi/import.ts';
import { type Column, listResult } from '../../output/command-result.ts';

const COLUMNS: readonly Column<ImportedChange>[] = [
  { header: 'LEAF', value: ({ leaf }) => leaf },
  { header: 'OLD', value: ({ old }) => old },
  { header: 'NEW', value: (change) => change.new },
  { header: 'EVIDENCE', value: ({ evidence }) => evidence, tone: () => 'dim', isNote: true },
];

function describeOutcome(number: number, isWritten: boolean): string {
  if (number === 0) return 'Nothing to change: the contract agrees with the document.';
  return isWritten
    ? 'Written. All imported values: partnerctl contract show --source imported'
    : 'Nothing was written. To write the values, add --yes.';
}

export const importDocument = () =>
  defineCommand('import', "Read the wire format from the service's OpenAPI document", {
    description:
      "Reads the wire format from the service's OpenAPI 3.0, 3.1, or 3.2 document (JSON or YAML) and shows what would change. Writes only with --yes; what was imported before is replaced. Downloads the document without sending a token.",
    exits: ['credentials', 'notFound', 'service'],
    json: '{document, written, changes: [{leaf, old, new, evidence}], questions}',
    examples: [
      'partnerctl contract import openapi.json  # show what the document would change',
      'partnerctl contract import openapi.yaml -o json --query questions  # what the document leaves open',
      'partnerctl contract import https://api.example.com/v1 --yes  # import what the service publishes',
    ],
  })
    .argument('<file|url>', 'a file, - for standard input, an https URL, or the address of the service')
    .option('--yes', 'confirm the changes in advance: without it, nothing is written')
    .action(
      deferred(async (context, typed, { yes = false }) => {
        const { readImport } = await import('../../openapi/import.ts');
        const { document, changes, questions, write } = await readImport(context, typed);
        if (yes) await write();
        for (const question of questions) await context.notice(`open: ${question}`);
        await context.notice(describeOutcome(changes.length, yes));
        return listResult(changes, COLUMNS, {
          document: () => ({ document, written: yes, changes, questions }),
        });
      }),
    );
