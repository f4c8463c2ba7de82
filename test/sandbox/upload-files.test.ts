import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { keptUploads } from '../../src/sandbox/store/upload-files.ts';
import { DESCRIPTORS, openBelow } from '../helpers/descriptors.ts';
import { tempDirectory } from '../helpers/run.ts';

test.skipIf(!existsSync(DESCRIPTORS))(
  'a file whose bytes fail at once is closed by then: one that is still being opened would come back after its removal (needs /proc)',
  async () => {
    const dataDir = tempDirectory();
    const files = await keptUploads(dataDir, () => true);
    for (let index = 0; index < 20; index += 1) {
      const id = `att_${String(index).padStart(20, '0')}`;
      async function* chunks(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('x');
        throw new Error('broken off');
      }
      await expect(files.write(id, chunks())).rejects.toThrow('broken off');
      expect(openBelow(dataDir)).toEqual([]);
      await files.remove([id]);
    }
  },
);
