import { mkdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { takeLock } from './lock.ts';
import { type Refresh, respond } from './respond.ts';

/*
 * The program that runs at each Tab. It is built into a file of its own that contains little of partnerctl, reads a few small
 * files, and sends no requests. If anything fails, it offers nothing and prints nothing.
 */

/** Starts a process that refreshes the cache, without waiting for it. */
function startRefresh({ directory, flags }: Refresh, [file = '', ...script]: readonly string[]): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (!takeLock(join(directory, 'lock'), process.pid)) return;
  // Load this only here: it takes as long as everything else.
  const { spawn } = process.getBuiltinModule('node:child_process');
  const limits = ['--timeout', '15s', '--retries', '0'];
  const all = [...script, 'completion', 'refresh', '--background', '--no-input', '--quiet', ...limits, ...flags];
  const child = spawn(file, all, { detached: true, stdio: 'ignore', windowsHide: true });
  child.on('error', () => undefined);
  child.unref();
}

/**
 * Completes a word for the shell script that started this process, and prints the result.
 * @param readTree returns the `CompletionTree` as JSON
 * @param selfCommand the command that starts partnerctl
 */
export function run(readTree: () => string, selfCommand: readonly string[]): void {
  const { env, platform, argv } = process;
  try {
    const home = env.HOME || env.USERPROFILE || '';
    const { text, refresh } = respond(argv.slice(3), { env, platform, home, readTree, now: Date.now() });
    writeSync(1, text);
    if (refresh) startRefresh(refresh, selfCommand);
  } catch {
    // A message would end up in the user's command line.
  }
}
