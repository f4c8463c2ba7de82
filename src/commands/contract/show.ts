import { Option } from '@commander-js/extra-typings';
import { leaf, run } from '../../cli/leaf.ts';
import type { Leaf } from '../../contract/contract.ts';
import { SOURCES, type Source } from '../../contract/sources.ts';
import { type Column, listResult, type Tone } from '../../output/command-result.ts';

const TONES: Readonly<Partial<Record<Source, Tone>>> = {
  spec: 'dim',
  imported: 'good',
  override: 'warn',
};

/** Up to this many leaves are shown with complete values and notes. */
const MAX_COMPLETE = 3;

const COLUMNS: readonly Column<Leaf>[] = [
  { header: 'LEAF', value: ({ name }) => name },
  { header: 'VALUE', value: ({ value }) => value },
  { header: 'SOURCE', value: ({ source }) => source, tone: ({ source }) => TONES[source] },
  { header: 'NOTE', value: ({ note }) => note, tone: () => 'dim', isOptional: true },
];

function columnsFor(count: number): readonly Column<Leaf>[] {
  return count > MAX_COMPLETE ? COLUMNS : COLUMNS.map((column) => ({ ...column, isOptional: false }));
}

export const show = () =>
  leaf('show', 'Show the wire format that the tool expects', {
    description:
      'Shows the wire format that partnerctl expects: every value, and where it comes from (spec, assumed, imported, or override).',
    examples: [
      ['partnerctl contract show --source assumed', 'show what the specification leaves open'],
      ['partnerctl contract show cron_jobs -o yaml', 'show all about scheduled jobs as YAML'],
    ],
  })
    .argument('[prefix]', 'only the leaves whose names start with this, such as messages.history')
    .addOption(new Option('--source <source>', 'only the values from this source').choices(SOURCES))
    .action(
      run(async (context, prefix = '', { source }) => {
        const { readLeaves } = await import('../../config/contract-settings.ts');
        const key = (await context.baseUrl()) === undefined ? undefined : await context.contractKey();
        const { leaves, document } = await readLeaves(context, key, prefix);
        if (document) {
          const { from, imported_at, sha256 } = document;
          await context.notice(`Imported from ${from} on ${imported_at} (sha256 ${sha256}).`);
        }
        const shown = leaves.filter((each) => source === undefined || each.source === source);
        return listResult(shown, columnsFor(shown.length), {
          json: ({ name, value, source: from, kind, note }) => ({ leaf: name, value, source: from, kind, note }),
          empty: `No value of ${prefix === '' ? 'the contract' : prefix} comes from this source (${source ?? 'any'}).`,
        });
      }),
    );
