import { describeStore } from '../../support/store-contract.ts';
import { storeKinds } from '../../support/stores.ts';

// The slow tests hold the other kinds to the same contract.
for (const kind of storeKinds().filter(({ name }) => name === 'a file')) describeStore(kind);
