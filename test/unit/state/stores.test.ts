import { describeStore } from '../../helpers/store-contract.ts';
import { storeKinds } from '../../helpers/stores.ts';

for (const kind of storeKinds()) describeStore(kind);
