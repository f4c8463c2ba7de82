import { describe, expect, it } from 'vitest';
import { createProgress } from '../../../src/output/progress.ts';
import { outputSink } from '../../../src/output/sink.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import { memorySink } from '../../support/memory-sink.ts';
import { Screen } from '../../support/screen.ts';

/** A clock whose sleeps end when `pass` is called, which moves it forward. */
function manualClock() {
  const slept: number[] = [];
  let wake: (() => void)[] = [];
  let now = 0;
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep(ms, signal) {
      slept.push(ms);
      return new Promise((resolve, reject) => {
        wake.push(resolve);
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    },
  };
  const pass = (ms = 1000) => {
    now += ms;
    for (const resolve of wake) resolve();
    wake = [];
  };
  return { clock, slept, pass };
}

/** A spinner in a terminal, and its clock. */
function openProgress() {
  const screen = new Screen();
  const redact = (text: string) => text.replaceAll('hush', '[redacted]');
  const { clock, slept, pass } = manualClock();
  return { screen, slept, pass, progress: createProgress(screen, { enabled: true, clock, redact }) };
}

describe('progress', () => {
  it('appears after a second, follows the text, and disappears when stopped', async () => {
    const { screen, progress, slept, pass } = openProgress();
    progress.start('listing spaces');
    expect(slept).toEqual([1000]);
    expect(screen.output).toBe('');
    pass();
    await screen.until('listing spaces');
    progress.update('page 2');
    await screen.until('page 2');
    progress.detail('waiting 5 s');
    await screen.until('page 2 (waiting 5 s)');
    progress.update('page 3');
    await screen.until('page 3 (waiting 5 s)');
    progress.stop();
    await screen.until('page 3 (waiting 5 s)\x1b[?2026l\x1b[1G\x1b[0K');
  });

  it('shows nothing if stopped early, even while the library loads', async () => {
    const { screen, progress, pass } = openProgress();
    progress.start('early');
    progress.stop();
    pass();
    progress.start('late');
    pass();
    progress.stop();
    progress.start('last');
    pass();
    await screen.until('last');
    progress.stop();
    expect(screen.output).not.toMatch(/early|late/);
  });

  it('disappears during a write and comes back', async () => {
    const { screen, progress, pass } = openProgress();
    progress.start('working');
    pass();
    await screen.until('working');
    screen.output = '';
    const sink = outputSink(
      { ...memorySink({ isTTY: true }), write: async (text) => void screen.write(text) },
      { progress },
    );
    await sink.write('a notice\n');
    await screen.until('working');
    const [before, after] = screen.output.split('a notice\n');
    expect(before).toMatch(/\x1b\[1G\x1b\[0K$/);
    expect(before).not.toContain('working\x1b[?2026l\x1b[?2026h');
    expect(after).toContain('working');
    progress.stop();
  });

  it('sanitizes and redacts its text', async () => {
    const { screen, progress, pass } = openProgress();
    progress.start('name \x1b[2J hush');
    pass();
    await screen.until('name \\x1b[2J [redacted]');
    progress.stop();
  });
});

describe('a countdown', () => {
  it('counts down once a second, until another detail takes its place', async () => {
    const { screen, progress, pass } = openProgress();
    progress.start('Listing spaces');
    progress.countdown(2_500, (left) => `waiting ${left} for the rate limit`);
    pass();
    await screen.until('waiting 2 s for the rate limit');
    pass();
    await screen.until('waiting 1 s for the rate limit');
    expect(screen.output).not.toContain('waiting 0 s');
    progress.detail('');
    const { length } = screen.output;
    pass();
    await new Promise((resolve) => setImmediate(resolve));
    expect(screen.output.slice(length)).not.toContain('waiting');
    progress.stop();
  });
});
