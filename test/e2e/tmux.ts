import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { onTestFinished } from 'vitest';
import { tempDirectory } from '../helpers/run.ts';
import { PROGRAM } from './program.ts';

export const hasTmux = spawnSync('tmux', ['-V']).status === 0;

export interface TmuxScreen {
  keys(...keys: string[]): Promise<void>;
  paste(text: string): Promise<void>;
  resize(columns: number): Promise<void>;
  /** The screen, once it matches; its lines without trailing blanks. */
  screen(wanted: RegExp): Promise<string>;
  /** The screen with all that has scrolled away; lines that the terminal itself has wrapped are whole. */
  everything(): Promise<string>;
  /** Column and row of the cursor. */
  cursor(): Promise<string>;
  /** What a program may set without leaving a sign on the screen. */
  title(): Promise<string>;
}

const ROWS = 20;

/** Less than a test may take, so that what is on the screen is told. */
const LONGEST_MS = 90_000;

/** Resolves when a terminal has been written to since the last time, so that nobody looks at it over and over. */
async function outputOf(tmux: (...args: string[]) => Promise<string>, directory: string): Promise<() => Promise<void>> {
  const pipe = join(directory, 'output');
  await execa('mkfifo', [pipe]);
  let hasMore = false;
  let wake = (): void => undefined;
  createReadStream(pipe).on('data', () => {
    hasMore = true;
    wake();
  });
  await tmux('pipe-pane', '-O', `exec cat > '${pipe}'`);
  return async () => {
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (hasMore) resolve();
    });
    hasMore = false;
  };
}

/** Runs the program in a terminal of its own, 60 columns wide; how it ended is on the screen at last. */
export async function inTmux(words: readonly string[], env: Readonly<Record<string, string>>): Promise<TmuxScreen> {
  const directory = tempDirectory();
  const socket = join(directory, 'tmux');
  const tmux = async (...args: string[]): Promise<string> => (await execa('tmux', ['-S', socket, ...args])).stdout;
  onTestFinished(async () => {
    await execa('tmux', ['-S', socket, 'kill-server'], { reject: false });
  });
  const given = Object.entries({ ...env, TERM: 'screen-256color', NO_COLOR: '1' }).map(
    ([name, value]) => `${name}='${value}'`,
  );
  const program = [process.execPath, PROGRAM, ...words].map((word) => `'${word}'`).join(' ');
  const line = `set -m; env -i PATH="$PATH" ${given.join(' ')} ${program}; echo "ended with $?"; while read -r line; do $line; done`;
  await tmux('-f', '/dev/null', 'new-session', '-d', '-x', '60', '-y', String(ROWS), line);
  const changed = await outputOf(tmux, directory);
  return {
    async screen(wanted) {
      const late = AbortSignal.timeout(LONGEST_MS);
      const isLate = once(late, 'abort');
      for (;;) {
        const shown = (await tmux('capture-pane', '-p')).replace(/ +$/gm, '').trimEnd();
        if (wanted.test(shown)) return shown;
        if (late.aborted) throw new Error(`The screen never showed ${wanted}:\n${shown}`);
        await Promise.race([changed(), isLate]);
      }
    },
    everything: () => tmux('capture-pane', '-p', '-J', '-S', '-'),
    keys: async (...keys) => void (await tmux('send-keys', ...keys)),
    resize: async (columns) => void (await tmux('resize-window', '-x', String(columns), '-y', String(ROWS))),
    cursor: () => tmux('display-message', '-p', '#{cursor_x},#{cursor_y}'),
    title: () => tmux('display-message', '-p', '#{pane_title}'),
    async paste(text) {
      await tmux('set-buffer', text);
      await tmux('paste-buffer', '-p', '-r');
    },
  };
}
