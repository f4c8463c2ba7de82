import { expect, test } from 'vitest';
import { findDeliveries, readDelivery, saveDelivery } from '../../../src/webhook/saved-delivery.ts';
import { tempDirectory } from '../../support/run.ts';

test('A delivery that is being saved is not there yet: a kill leaves nothing that a replay of the directory refuses.', async () => {
  const directory = tempDirectory();
  const delivery = { delivery_id: 'msg_1', received_at: '2026-01-31T09:30:00.000Z', body: Buffer.from('{}') };
  const headers = [['x-long', 'x'.repeat(30_000_000)]] as const;
  let isSaved = false;
  const saving = saveDelivery(directory, { ...delivery, headers, verification: 'not-checked', reason: null }).finally(
    () => {
      isSaved = true;
    },
  );
  while (!isSaved) {
    for (const file of await findDeliveries([directory]).catch(() => [])) await readDelivery(file);
  }
  await saving;
  expect(await findDeliveries([directory])).toHaveLength(1);
});
