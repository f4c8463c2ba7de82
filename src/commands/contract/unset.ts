import { command } from '../../cli/command.ts';
import { readContractLayers, type StoredContract, updateContract } from '../../config/contract-file.ts';
import { findLeaf } from '../../config/find-leaf.ts';
import { Contract } from '../../contract/contract.ts';
import { objectResult } from '../../output/command-result.ts';

export default command({
  description:
    'Removes a value that `contract set` has set for this profile and service. The imported or default value applies again.',
  args: [{ usage: '<leaf>', description: 'the name of the value' }],
  exits: [],
  examples: [{ line: 'partnerctl contract unset cron_jobs.list', does: 'read the list of jobs again' }],
  parse: ({ positionals: [name = ''] }) => ({ leaf: findLeaf(name) }),
  async run({ config, contractKey, clock, random, abortSignal: signal }, { leaf }) {
    const key = await contractKey();
    const change = (stored: StoredContract) => {
      const { [leaf]: _, ...overrides } = stored.overrides;
      return { ...stored, overrides };
    };
    await updateContract(config.directory, key, change, { clock, random, signal });
    const after = new Contract(await readContractLayers(config.directory, key)).leaf(leaf);
    const data = { leaf, value: after.value, source: after.source, profile: key.profile, base_url: key.baseUrl };
    return objectResult(data, [
      { header: 'LEAF', value: (result) => result.leaf },
      { header: 'VALUE', value: (result) => result.value },
      { header: 'SOURCE', value: (result) => result.source },
      { header: 'PROFILE', value: (result) => result.profile },
      { header: 'BASE URL', value: (result) => result.base_url },
    ]);
  },
});
