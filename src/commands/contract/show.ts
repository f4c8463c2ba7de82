import { Option } from '@commander-js/extra-typings';
import { deferred, defineCommand } from '../../cli/command.ts';
import { Contract, type Leaf, type Source } from '../../contract/contract.ts';
import { kindOf } from '../../contract/leaves.ts';
import { type Column, listResult, type Tone } from '../../output/command-result.ts';

const SOURCES = ['spec', 'assumed', 'imported', 'override'] satisfies Source[];

const TONES: Readonly<Partial<Record<Source, Tone>>> = { spec: 'dim', imported: 'good', override: 'warn' };

const COLUMNS: readonly Column<Leaf>[] = [
  { header: 'LEAF', value: ({ name }) => name },
  { header: 'VALUE', value: ({ value }) => value, fit: 'end' },
  { header: 'SOURCE', value: ({ source }) => source, tone: ({ source }) => TONES[source] },
];

export const show = () =>
  defineCommand('show', 'Show the wire format that the tool expects', {
    exits: ['notFound'],
    json: '[{leaf, value, source, kind}]',
    examples: [
      'partnerctl contract show --source assumed  # show what the specification leaves open',
      'partnerctl contract show --source override  # show what was set by hand',
      'partnerctl contract show cron_jobs -o yaml  # show all about scheduled jobs as YAML',
    ],
  })
    .argument('[prefix]', 'only the leaves whose names start with this, such as messages.history')
    .addOption(new Option('--source <source>', 'only the values from this source').choices(SOURCES))
    .action(
      deferred(async (context, prefix = '', { source: wanted }) => {
        const { contractKey, findLeaf, readContract } = await import('../../config/contract-file.ts');
        const { resolveBaseUrl } = await import('../../config/settings.ts');
        const hasService = resolveBaseUrl(context) !== undefined;
        const stored = hasService ? await readContract(context, contractKey(context)) : undefined;
        const leaves = new Contract(stored).leaves().filter(({ name }) => name.startsWith(prefix));
        if (leaves.length === 0) findLeaf(prefix);
        const shown = leaves.filter(({ source }) => wanted === undefined || source === wanted);
        return listResult(shown, COLUMNS, {
          json: ({ name, value, source }) => ({ leaf: name, value, source, kind: kindOf(name) }),
          empty: `No value of ${prefix || 'the contract'} comes from this source (${wanted ?? 'any'}).`,
        });
      }),
    );
