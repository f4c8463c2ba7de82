import { describeStore } from '../../support/store-contract.ts';
import { storeKinds } from '../../support/stores.ts';

for (const kind of storeKinds()) describeStore(kind);
