import { expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { connectTo, connectToChild } from '../support/sandbox-client.ts';
import { prepareChildSandboxes, temporaryDirectory } from '../support/sandbox-process.ts';
import { checkAfterKill, nothingAcknowledged, type Told, writeEverything } from '../support/sandbox-workload.ts';

const startChild = prepareChildSandboxes();

/** @returns whether the sandbox was killed before everything was written */
async function writeUntilKilled(dataDir: string, killPoint: string, told: Told): Promise<boolean> {
  const child = await startChild(dataDir, { killPoint }).catch(() => undefined);
  if (!child) return true;
  try {
    await writeEverything(connectToChild(child), told);
    return false;
  } catch (error) {
    // Not a failed connection, but an unexpected response.
    if (!(error instanceof TypeError)) throw error;
    return true;
  } finally {
    await child.kill();
  }
}

test.each(['before', 'half', 'after'])(
  'a sandbox with --data that is killed %s any of its writes loses and duplicates nothing',
  async (moment) => {
    let [points, lost, duplicated] = [0, 0, 0];
    for (let isKilled = true; isKilled; ) {
      const dataDir = await temporaryDirectory();
      const told = nothingAcknowledged();
      isKilled = await writeUntilKilled(dataDir, `${points + 1} ${moment}`, told);
      if (isKilled) points += 1;
      const sandbox = await startSandbox({ dataDir });
      const examined = await checkAfterKill(connectTo(sandbox, await sandbox.createToken()), dataDir, told);
      await sandbox.close();
      expect(examined, `${points} ${moment}`).toEqual({ lost: [], duplicated: [] });
      lost += examined.lost.length;
      duplicated += examined.duplicated.length;
    }
    process.stdout.write(`sandbox --data: killed ${moment} ${points} writes: ${lost} lost, ${duplicated} duplicated\n`);
    expect(points).toBeGreaterThan(40);
  },
);
