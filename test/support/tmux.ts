import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { onTestFinished } from 'vitest';
import { PROGRAM } from './program.ts';
import { tempDirectory } from './run.ts';

export const hasTmux = spawnSync('tmux', ['-V']).status === 0;

export type TmuxScreen = Awaited<ReturnType<typeof inTmux>>;

const ROWS = 20;

/** Less than the time limit of a test, so that the error can show the screen. */
const SCREEN_TIMEOUT_MS = 90_000;

/** Returns a function that resolves at the next output since its last call, so that the screen need not be polled. */
async function watchOutput(
  tmux: (...args: string[]) => Promise<string>,
  directory: string,
): Promise<() => Promise<void>> {
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

/** Runs the program in a terminal of 60 columns, which finally shows `ended with <exit code>`. */
export async function inTmux(args: readonly string[], env: Readonly<Record<string, string>>) {
  const directory = tempDirectory();
  const socket = join(directory, 'tmux');
  const tmux = async (...args: string[]): Promise<string> => (await execa('tmux', ['-S', socket, ...args])).stdout;
  onTestFinished(async () => {
    await execa('tmux', ['-S', socket, 'kill-server'], { reject: false });
  });
  const variables = Object.entries({ ...env, TERM: 'screen-256color', NO_COLOR: '1' });
  const given = variables.map(([name, value]) => `${name}='${value}'`);
  const program = [process.execPath, PROGRAM, ...args].map((word) => `'${word}'`).join(' ');
  const line = `set -m; env -i PATH="$PATH" ${given.join(' ')} ${program}; echo "ended with $?"; while read -r line; do $line; done`;
  await tmux('-f', '/dev/null', 'new-session', '-d', '-x', '60', '-y', String(ROWS), line);
  const changed = await watchOutput(tmux, directory);
  return {
    /** Waits for the screen to match and returns it without trailing blanks. */
    async screen(wanted: RegExp): Promise<string> {
      const timeout = AbortSignal.timeout(SCREEN_TIMEOUT_MS);
      const timedOut = once(timeout, 'abort');
      for (;;) {
        const shown = (await tmux('capture-pane', '-p')).replace(/ +$/gm, '').trimEnd();
        if (wanted.test(shown)) return shown;
        if (timeout.aborted) throw new Error(`The screen never showed ${wanted}:\n${shown}`);
        await Promise.race([changed(), timedOut]);
      }
    },
    /** The screen and its history; lines that the terminal wrapped are joined. */
    everything: () => tmux('capture-pane', '-p', '-J', '-S', '-'),
    keys: (...keys: string[]) => tmux('send-keys', ...keys),
    resize: (columns: number) => tmux('resize-window', '-x', String(columns), '-y', String(ROWS)),
    /** The cursor as `column,row`. */
    cursor: () => tmux('display-message', '-p', '#{cursor_x},#{cursor_y}'),
    /** The title of the terminal. */
    title: () => tmux('display-message', '-p', '#{pane_title}'),
    async paste(text: string): Promise<void> {
      await tmux('set-buffer', text);
      await tmux('paste-buffer', '-p', '-r');
    },
  };
}
