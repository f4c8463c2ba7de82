import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { randomRecordId } from '../../../src/state-old/record.ts';
import { readRecovery, removeRecovery, writeRecovery } from '../../../src/state-old/recovery.ts';
import { temporaryDirectory } from './files.ts';
import { builtChild, runProgram } from './program.ts';

const RECORD = {
  type: 'cron.released',
  id: 'r1',
  at: '2026-03-02T09:00:00.000Z',
  key: 'k',
  reservation: 'r0',
  why: 'test',
};

async function statePath(): Promise<string> {
  return join(await temporaryDirectory(), 'state.jsonl');
}

describe('a recovery file next to the state file', () => {
  it('is found again and removed', async () => {
    const path = await statePath();
    const written = await writeRecovery(path, RECORD);
    expect(dirname(written ?? '')).toBe(dirname(path));
    const [found, ...more] = await readRecovery(path);
    expect([found, more]).toEqual([{ path: written, record: RECORD }, []]);
    if (found) await removeRecovery(found);
    expect(await readRecovery(path)).toEqual([]);
  });

  it('is in the temporary directory if it cannot be written there', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'file'), '');
    const path = join(directory, 'file', 'state.jsonl');
    // Other processes use that directory, too: under a constant name, the files of a killed test would be in the way.
    const id = randomRecordId();
    const written = await writeRecovery(path, { ...RECORD, id });
    expect(written).toBe(join(tmpdir(), `state.jsonl.recovery-${id}`));
    await rm(written ?? '');
  });

  it.skipIf(process.platform === 'win32')(
    'is not reported if the disk is full, and leaves nothing behind',
    async () => {
      const path = await statePath();
      const child = await builtChild(dirname(path));
      const full = ['-c', 'ulimit -f 0; exec "$@"', 'sh', process.execPath, child, 'recover', path];
      expect(await runProgram('sh', full)).toEqual(['undefined', 'undefined']);
      expect(await readdir(dirname(path))).toEqual([basename(child)]);
    },
  );

  it('does not hide the others if it is unreadable', async () => {
    const path = await statePath();
    await mkdir(`${path}.recovery-a`);
    await writeFile(`${path}.recovery-b`, 'half a rec');
    await writeRecovery(path, RECORD);
    expect((await readRecovery(path)).map(({ record }) => record.id)).toEqual(['r1']);
  });
});
