import { gitServerKinds } from '../support/git-servers.ts';
import { describeStore, describeStoreInDetail } from '../support/store-contract.ts';
import { storeKinds } from '../support/stores.ts';

for (const kind of [...storeKinds(), ...gitServerKinds()]) {
  describeStore(kind);
  describeStoreInDetail(kind);
}
