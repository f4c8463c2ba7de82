import { existsSync, mkdirSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Environment } from './io.ts';

const WRITABLE_BY_OTHERS = 0o022;

/** Whether nobody else can put code into the directory. */
function isPrivate(directory: string): boolean {
  const { mode, uid } = statSync(directory);
  return process.geteuid === undefined || (uid === process.geteuid() && (mode & WRITABLE_BY_OTHERS) === 0);
}

/**
 * Lets Node keep the compiled program in the cache directory, which Node can do from version 22 on. Not in the temporary
 * directory, Node's default: others could put code there that runs with the token. Without a place, nothing is kept.
 */
export function keepCompiledCode(env: Environment): void {
  const module: object = process.getBuiltinModule('node:module');
  if (!('enableCompileCache' in module) || typeof module.enableCompileCache !== 'function') return;
  const { XDG_CACHE_HOME: xdg, HOME: home } = env;
  const isXdg = xdg !== undefined && isAbsolute(xdg);
  const parent = isXdg ? xdg : home;
  // A user without a home directory, such as a system service, gets no cache.
  if (!parent || !existsSync(parent)) return;
  const directory = join(parent, isXdg ? '' : '.cache', 'partnerctl', 'compiled');
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (isPrivate(directory)) module.enableCompileCache(directory);
  } catch {
    // Without a cache, Node compiles the program at each start.
  }
}
