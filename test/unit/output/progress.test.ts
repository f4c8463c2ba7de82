import { describe, expect, it } from 'vitest';
import { createProgress } from '../../../src/output/progress.ts';
import { outputSink } from '../../../src/output/sink.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import { memorySink, Screen } from '../../support/sinks.ts';

/** A clock whose sleeps end when `pass` is called, which moves it forward. */
function manualClock() {
  let wake: (() => void)[] = [];
  let now = 0;
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep(_ms, signal) {
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
  return { clock, pass };
}

/** A spinner in a terminal, and its clock. */
function openProgress() {
  const screen = new Screen();
  const redact = (text: string) => text.replaceAll('hush', '[redacted]');
  const { clock, pass } = manualClock();
  return { screen, pass, progress: createProgress(screen, { enabled: true, clock, redact }) };
}

describe('progress', () => {
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

  it.each([true, false])('disappears before a write, and comes back a second later (terminal: %s)', async (isTTY) => {
    const { screen, progress, pass } = openProgress();
    progress.start('working');
    pass();
    await screen.until('working');
    screen.output = '';
    const sink = outputSink({ ...memorySink({ isTTY }), write: async (text) => void screen.write(text) }, { progress });
    await sink.write('a notice\n');
    await new Promise(setImmediate);
    expect(screen.output).toMatch(/a notice\n$/);
    pass();
    await screen.until('a notice\n\x1b[?2026h');
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
