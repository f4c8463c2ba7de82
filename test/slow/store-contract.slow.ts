import { describeStore, describeStoreInDetail } from '../support/store-contract.ts';
import { storeKinds } from '../support/stores.ts';

for (const kind of storeKinds()) {
  describeStore(kind);
  describeStoreInDetail(kind);
}
