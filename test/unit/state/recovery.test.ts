import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CronRecord } from '../../../src/cron/history.ts';
import { randomRecordId } from '../../../src/state/record.ts';
import { leaveRecord, leftRecords, removeLeft } from '../../../src/state/recovery.ts';
import { temporaryDirectory } from './files.ts';

const RECORD: CronRecord = {
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

describe('a record that is left beside the state file', () => {
  it('is found again, and removed', async () => {
    const path = await statePath();
    const left = await leaveRecord(path, RECORD);
    expect(dirname(left ?? '')).toBe(dirname(path));
    const [found, ...more] = await leftRecords(path);
    expect([found, more]).toEqual([{ path: left, record: RECORD }, []]);
    if (found) await removeLeft(found);
    expect(await leftRecords(path)).toEqual([]);
  });

  it('goes to the directory for temporary files where it cannot be beside it', async () => {
    const path = join(await temporaryDirectory(), 'missing', 'state.jsonl');
    // Others use that directory, too: under a name that is always the same, what a killed test left would be in the way.
    const id = randomRecordId();
    const left = await leaveRecord(path, { ...RECORD, id });
    expect(left).toBe(join(tmpdir(), `state.jsonl.recovery-${id}`));
    await rm(left ?? '');
  });

  it('does not keep others from being found where it cannot be read', async () => {
    const path = await statePath();
    await mkdir(`${path}.recovery-a`);
    await writeFile(`${path}.recovery-b`, 'half a rec');
    await leaveRecord(path, RECORD);
    expect((await leftRecords(path)).map(({ record }) => record.id)).toEqual(['r1']);
  });
});
