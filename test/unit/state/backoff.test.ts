import { expect, test } from 'vitest';
import { PERSISTENCE_MS, persist } from '../../../src/state/backoff.ts';
import { fastClock } from '../../support/run.ts';

test('A store whose first call hangs for all of the time is called once more', async () => {
  const clock = fastClock();
  const deps = { clock, random: () => 0, signal: new AbortController().signal };
  let calls = 0;
  const hang = async (): Promise<string> => {
    calls += 1;
    if (calls === 2) return 'there';
    await clock.sleep(PERSISTENCE_MS + 1);
    throw new Error('no answer');
  };
  expect(await persist(deps, hang, () => undefined)).toBe('there');
});
