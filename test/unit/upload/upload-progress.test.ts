import { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import type { Io, Sink } from '../../../src/cli/io.ts';
import { showUploadProgress } from '../../../src/upload/upload-progress.ts';
import { textSource } from '../../../src/upload/upload-source.ts';

const TERMINAL: Sink = { isTTY: true, columns: 120, write: async () => undefined };
const IO: Io = { stdin: Readable.from([]), stdout: TERMINAL, stderr: TERMINAL };

const SOURCES = [100, 200, 300].map((bytes) => textSource(`${bytes}.txt`, 'x'.repeat(bytes)));

/** A progress watcher for these files, and the bar for all of them as it is drawn next. */
function watched() {
  let isDue = false;
  let draw = (): void => undefined;
  let drawn = (_line: string): void => undefined;
  let stops = 0;
  let closed: AbortSignal | undefined;
  const progress = {
    start: () => undefined,
    update: (lines: string | readonly string[]) => drawn(lines[0] ?? ''),
    detail: () => undefined,
    countdown: () => undefined,
    stop: () => {
      stops += 1;
    },
    pauseDuring: <Result>(write: () => Promise<Result>) => write(),
  };
  const sleep = (_ms: number, signal?: AbortSignal) => {
    closed = signal;
    return new Promise<void>((resolve) => {
      draw = resolve;
      if (isDue) resolve();
      isDue = false;
    });
  };
  const clock = { now: () => 1_000, monotonic: () => 1_000, sleep };
  const watch = showUploadProgress({ progress, clock, io: IO }, SOURCES);
  onTestFinished(() => watch.close());
  const next = (): Promise<string> =>
    new Promise((resolve) => {
      drawn = resolve;
      isDue = true;
      draw();
    });
  return { watch, next, stops: () => stops, isOver: () => closed?.aborted };
}

it('counts sent bytes, but not those of skipped and failed files', async () => {
  const [first, second, third] = SOURCES;
  if (!(first && second && third)) throw new Error('There are three.');
  const { watch, next } = watched();
  expect(await next()).toMatch(/^0 of 3 files .* 0 B of 600 B/);
  watch.started(first);
  watch.finished(first, false);
  watch.started(second);
  watch.advanced(second, 50);
  expect(await next()).toMatch(/^1 of 3 files .* 50 B of 500 B/);
  watch.finished(second, true);
  watch.started(third);
  expect(await next()).toMatch(/^2 of 3 files .* 200 B of 500 B/);
});

it('has no pending timer after it is closed', async () => {
  const { watch, next, isOver } = watched();
  await next();
  expect(isOver()).toBe(false);
  watch.close();
  expect(isOver()).toBe(true);
});

it('removes the bars when it is closed', () => {
  const { watch, stops } = watched();
  expect(stops()).toBe(0);
  watch.close();
  expect(stops()).toBe(1);
});
