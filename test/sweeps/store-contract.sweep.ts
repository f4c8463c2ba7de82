import { gitServerKinds } from '../helpers/git-servers.ts';
import { describeStore, describeStoreInDetail } from '../helpers/store-contract.ts';
import { storeKinds } from '../helpers/stores.ts';

for (const kind of [...storeKinds(), ...gitServerKinds()]) describeStoreInDetail(kind);
for (const kind of gitServerKinds().filter(({ name }) => name === 'git over HTTP')) describeStore(kind);
