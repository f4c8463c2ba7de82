import { spawnSync } from 'node:child_process';
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

/** Runs the program in a terminal of its own, 60 columns wide; how it ended is on the screen at last. */
export async function inTmux(words: readonly string[], env: Readonly<Record<string, string>>): Promise<TmuxScreen> {
  const socket = join(tempDirectory(), 'tmux');
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
  return {
    async screen(wanted) {
      for (let looks = 0; looks < 2_000; looks += 1) {
        const shown = (await tmux('capture-pane', '-p')).replace(/ +$/gm, '').trimEnd();
        if (wanted.test(shown)) return shown;
      }
      throw new Error(`The screen never showed ${wanted}:\n${await tmux('capture-pane', '-p')}`);
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
