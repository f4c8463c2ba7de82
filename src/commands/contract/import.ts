import { leaf, run } from '../../cli/leaf.ts';
import { collect } from '../../cli/options.ts';
import type { ProposedChange } from '../../openapi/import.ts';
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

export const importDocument = () =>
  leaf('import', "Read the wire format from the service's OpenAPI document", {
    description:
      "Reads the wire format from the service's OpenAPI 3.0 or 3.1 document (JSON or YAML) and shows what would change. Writes only with --yes, or after a yes at the prompt. Downloads the document without sending a token.",
    exits: ['credentials', 'notFound', 'service'],
    examples: [
      ['partnerctl contract import openapi.json', 'show what the document would change'],
      ['partnerctl contract import https://api.example.com/v1 --yes', 'import what the service publishes'],
      ['partnerctl contract import openapi.yaml --yes --accept', 'also where it contradicts the specification'],
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
        const [{ refuseTokenOnStdin }, { findLeaf }, { readImport }, { parseSource }, { importNotices, mayWrite }] =
          await Promise.all([
            import('../../cli/input.ts'),
            import('../../config/contract-settings.ts'),
            import('../../openapi/import.ts'),
            import('../../openapi/source.ts'),
            import('./shared/import-questions.ts'),
          ]);
        if (typed === '-') refuseTokenOnStdin(context.flags, 'document');
        const found = await readImport(context, parseSource(typed), only.map(findLeaf));
        const written = await mayWrite(context, found, { yes, accept });
        if (written) await found.write();
        for (const notice of importNotices(found, written)) await context.notice(notice);
        const { document, changes, confirmed, missing, questions } = found;
        return listResult(changes, COLUMNS, {
          empty: '',
          document: () => ({ document, written, changes, confirmed, missing, questions }),
        });
      }),
    );
