import { mkdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { takeLock } from './lock.ts';
import { type Refresh, respond } from './respond.ts';

/*
 * The program that runs at each Tab. It is built into its own file, loads nothing of partnerctl, reads a few
 * small files, and makes no request. Whatever goes wrong, it offers nothing and says nothing.
 */

/** Starts a process that refreshes the cache, and does not wait for it. */
function startRefresh({ directory, flags }: Refresh, [file = '', ...script]: readonly string[]): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (!takeLock(join(directory, 'lock'), process.pid)) return;
  // Loading it takes as long as all the rest.
  const { spawn } = process.getBuiltinModule('node:child_process');
  const limits = ['--timeout', '15s', '--retries', '0'];
  const all = [...script, 'completion', 'refresh', '--background', '--no-input', '--quiet', ...limits, ...flags];
  const child = spawn(file, all, { detached: true, stdio: 'ignore', windowsHide: true });
  child.on('error', () => undefined);
  child.unref();
}

/**
 * Completes a word for the script that started this process.
 * @param readTree reads the `CompletionTree`, as JSON
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
    // A message would end up in the line that is typed.
  }
}
