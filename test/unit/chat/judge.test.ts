import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { kill } from 'node:process';
import { expect, test } from 'vitest';
import { judge } from '../../../src/chat/judge.ts';
import { tempDirectory } from '../../support/run.ts';

const isRunning = (pid: number): boolean => {
  try {
    return kill(pid, 0);
  } catch {
    return false;
  }
};

test('A judge knows how long it may take: what is left of the time, and at least ten seconds', async () => {
  const command = 'echo "$PARTNER_TEST_SECONDS"; exit 1';
  const { signal } = new AbortController();
  expect(await judge(command, {}, { env: {}, leftMs: 3_000, signal })).toEqual({ isAccepted: false, reason: '10' });
  expect(await judge(command, {}, { env: {}, leftMs: 25_500, signal })).toEqual({ isAccepted: false, reason: '25' });
});

test('A judge that hangs is ended with what it started', async () => {
  const path = join(tempDirectory(), 'pids');
  const stop = new AbortController();
  const command = `sleep 600 & echo $! $$ > ${path}.tmp; mv ${path}.tmp ${path}; wait`;
  const judging = judge(command, {}, { env: process.env, leftMs: 0, signal: stop.signal });
  await expect.poll(() => existsSync(path)).toBe(true);
  stop.abort(new Error('over'));
  await expect(judging).rejects.toThrow('over');
  const pids = readFileSync(path, 'utf8').trim().split(' ').map(Number);
  await expect.poll(() => pids.filter(isRunning)).toEqual([]);
});
