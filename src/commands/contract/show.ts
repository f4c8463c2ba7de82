import { command } from '../../cli/command.ts';
import { readContract, readContractLayers } from '../../config/contract-file.ts';
import { findLeaf } from '../../config/find-leaf.ts';
import { Contract, type Leaf } from '../../contract/contract.ts';
import { LEAVES, SOURCES, type Source } from '../../contract/leaves.ts';
import { UsageError } from '../../errors.ts';
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

function parseValueSource(text: string | undefined): Source | undefined {
  const source = SOURCES.find((known) => known === text);
  if (text !== undefined && source === undefined) {
    throw new UsageError(`${JSON.stringify(text)} is not a source.`, { hint: `Use one of: ${SOURCES.join(', ')}.` });
  }
  return source;
}

/** @throws UsageError if no leaf starts with the prefix */
function parsePrefix(prefix = ''): string {
  return Object.keys(LEAVES).some((name) => name.startsWith(prefix)) ? prefix : findLeaf(prefix);
}

export default command({
  description:
    'Shows the wire format that partnerctl expects: every value, and where it comes from (spec, assumed, imported, or override).',
  args: [{ usage: '[prefix]', description: 'only the leaves whose names start with this, such as messages.history' }],
  flags: [{ usage: '--source <source>', description: 'only the values from this source', choices: SOURCES }],
  columns: COLUMNS,
  exits: [],
  examples: [
    { line: 'partnerctl contract show --source assumed', does: 'show what the specification leaves open' },
    { line: 'partnerctl contract show cron_jobs -o yaml', does: 'show all about scheduled jobs as YAML' },
  ],
  parse: ({ positionals, value }) => ({
    prefix: parsePrefix(positionals[0]),
    source: parseValueSource(value('source')),
  }),
  async run({ config, contractKey, baseUrl, notice, warn }, { prefix, source }) {
    const key = (await baseUrl()) === undefined ? undefined : await contractKey();
    const contract = new Contract(key && (await readContractLayers(config.directory, key, warn)));
    const document = key && (await readContract(config.directory, key)).document;
    if (document)
      await notice(`Imported from ${document.from} on ${document.imported_at} (sha256 ${document.sha256}).`);
    const leaves = contract
      .leaves()
      .filter((leaf) => leaf.name.startsWith(prefix) && (source === undefined || leaf.source === source));
    return listResult(leaves, columnsFor(leaves.length), {
      json: ({ name, value, source: from, kind, note }) => ({ leaf: name, value, source: from, kind, note }),
      empty: `No value of ${prefix === '' ? 'the contract' : prefix} comes from this source (${source ?? 'any'}).`,
    });
  },
});
