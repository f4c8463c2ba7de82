import { command } from '../../cli/command.ts';
import { readContractLayers, type StoredContract, updateContract } from '../../config/contract-file.ts';
import { findLeaf } from '../../config/find-leaf.ts';
import { checkLeaf } from '../../contract/check-leaf.ts';
import { Contract } from '../../contract/contract.ts';
import { LeafValueError } from '../../contract/leaf-value.ts';
import { LEAVES } from '../../contract/leaves.ts';
import { UsageError } from '../../errors.ts';
import { objectResult } from '../../output/command-result.ts';

export default command({
  description:
    'Sets one value of the wire format for this profile and service. It wins over what the tool assumes, observed, or imported. See `partnerctl help contract` for the form of each kind of value.',
  args: [
    { usage: '<leaf>', description: 'the name of the value, as `contract show` lists it' },
    { usage: '<value>', description: 'the new value', quoteHint: 'Quote a value that contains spaces.' },
  ],
  examples: [
    { line: 'partnerctl contract set cron_jobs.list none', does: 'go on without a list of jobs' },
    { line: 'partnerctl contract set spaces.list.items data.rows', does: 'say where the spaces are in the response' },
    {
      line: "partnerctl contract set messages.history 'POST /integrations/api-chat/history/'",
      does: 'read histories by POST',
    },
  ],
  parse({ positionals: [name = '', value = ''] }) {
    const leaf = findLeaf(name);
    try {
      checkLeaf(leaf, value);
    } catch (error) {
      if (!(error instanceof LeafValueError)) throw error;
      throw new UsageError(`${leaf} ${error.message}.`, { hint: `Its default is: ${LEAVES[leaf].value}` });
    }
    return { leaf, value };
  },
  async run({ config, contractKey, clock, random, abortSignal: signal }, { leaf, value }) {
    const key = await contractKey();
    const before = new Contract(await readContractLayers(config.directory, key)).leaf(leaf);
    const change = (stored: StoredContract) => ({ ...stored, overrides: { ...stored.overrides, [leaf]: value } });
    await updateContract(config.directory, key, change, { clock, random, signal });
    const data = { leaf, value, previous: before.value, profile: key.profile, base_url: key.baseUrl };
    return objectResult(data, [
      { header: 'LEAF', value: (result) => result.leaf },
      { header: 'VALUE', value: (result) => result.value },
      { header: 'PREVIOUS', value: (result) => result.previous },
      { header: 'PROFILE', value: (result) => result.profile },
      { header: 'BASE URL', value: (result) => result.base_url },
    ]);
  },
});
