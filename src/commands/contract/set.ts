import { command } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { readContractLayers, type StoredContract, updateContract } from '../../config/contract-file.ts';
import { findLeaf } from '../../config/find-leaf.ts';
import { checkLeaf } from '../../contract/check-leaf.ts';
import { Contract } from '../../contract/contract.ts';
import { LeafValueError } from '../../contract/leaf-value.ts';
import { LEAVES, type LeafName } from '../../contract/leaves.ts';
import { UsageError } from '../../errors.ts';
import { type Column, listResult, objectResult } from '../../output/command-result.ts';

const QUOTE_HINT = 'Quote a value that contains spaces.';

interface Setting {
  readonly leaf: LeafName;
  readonly value: string;
}

interface ChangedLeaf extends Setting {
  readonly previous: string;
  readonly profile: string;
  readonly base_url: string;
}

const COLUMNS: readonly Column<ChangedLeaf>[] = [
  { header: 'LEAF', value: (result) => result.leaf },
  { header: 'VALUE', value: (result) => result.value },
  { header: 'PREVIOUS', value: (result) => result.previous },
  { header: 'PROFILE', value: (result) => result.profile },
  { header: 'BASE URL', value: (result) => result.base_url },
];

function parseSetting(name: string, value: string): Setting {
  const leaf = findLeaf(name);
  try {
    checkLeaf(leaf, value);
  } catch (error) {
    if (!(error instanceof LeafValueError)) throw error;
    throw new UsageError(`${leaf} ${error.message}.`, { hint: `Its default is: ${LEAVES[leaf].value}` });
  }
  return { leaf, value };
}

/** Stores all settings together. @returns the new and previous values */
async function store(context: Context, settings: readonly Setting[]): Promise<readonly ChangedLeaf[]> {
  const { config, contractKey, clock, random, warn, abortSignal: signal } = context;
  const key = await contractKey();
  const before = new Contract(await readContractLayers(config.directory, key, warn));
  const values = Object.fromEntries(settings.map(({ leaf, value }) => [leaf, value]));
  const change = (stored: StoredContract) => ({ ...stored, overrides: { ...stored.overrides, ...values } });
  await updateContract(config.directory, key, change, { clock, random, signal });
  return settings.map(({ leaf, value }) => {
    return { leaf, value, previous: before.leaf(leaf).value, profile: key.profile, base_url: key.baseUrl };
  });
}

export default command({
  description:
    'Sets values of the wire format for this profile and service. They override assumed and imported values. See `partnerctl help contract` for the form of each kind of value.',
  args: [
    { usage: '<leaf>', description: 'the name of the value, as `contract show` lists it' },
    { usage: '<value>', description: 'the new value', quoteHint: QUOTE_HINT },
    { usage: '[more...]', description: 'more leaves, each followed by its value; either all are set, or none' },
  ],
  columns: COLUMNS,
  exits: [],
  examples: [
    { line: 'partnerctl contract set cron_jobs.list none', does: 'work without a list of jobs' },
    { line: 'partnerctl contract set spaces.list.items data.rows', does: 'say where the spaces are in the response' },
    {
      line: "partnerctl contract set messages.history 'POST /integrations/api-chat/history/'",
      does: 'read histories by POST',
    },
    {
      line: 'partnerctl contract set message.author.agent bot message.author.user visitor',
      does: 'say who wrote a message',
    },
  ],
  parse({ positionals }) {
    if (positionals.length % 2 !== 0) {
      throw new UsageError(`${positionals.at(-1)} has no value. Each leaf must be followed by one.`, {
        hint: QUOTE_HINT,
      });
    }
    const names = positionals.filter((_, index) => index % 2 === 0);
    return names.map((name, index) => parseSetting(name, positionals[2 * index + 1] ?? ''));
  },
  async run(context, settings) {
    const changed = await store(context, settings);
    const [first, ...more] = changed;
    if (first && more.length === 0) return objectResult(first, COLUMNS);
    return listResult(changed, COLUMNS, { empty: 'Nothing was set.' });
  },
});
