import { existsSync, mkdirSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Environment } from '../platform/io.ts';
import { cacheCode } from './code-cache.ts';

const WRITABLE_BY_OTHERS = 0o022;

/** Whether nobody else can put code into the directory. */
function isPrivate(directory: string): boolean {
  const { mode, uid } = statSync(directory);
  return process.geteuid === undefined || (uid === process.geteuid() && (mode & WRITABLE_BY_OTHERS) === 0);
}

/** Returns the directory for compiled code; undefined for a user without a home directory, such as a system service. */
function compiledDirectory({ XDG_CACHE_HOME: xdg, HOME: home }: Environment): string | undefined {
  if (xdg !== undefined && isAbsolute(xdg)) return join(xdg, 'partnerctl', 'compiled');
  return home && existsSync(home) ? join(home, '.cache', 'partnerctl', 'compiled') : undefined;
}

/**
 * Caches the compiled program in the user's cache directory, where no other user can put code that would run with the token.
 * @returns a function that writes the cache, to call before the process exits
 */
export function keepCompiledCode(env: Environment): () => void {
  const directory = compiledDirectory(env);
  const nothing = () => undefined;
  if (directory === undefined || env.NODE_DISABLE_COMPILE_CACHE) return nothing;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return isPrivate(directory) ? cacheCode(directory) : nothing;
  } catch {
    // Without a cache, Node compiles the program at each start.
    return nothing;
  }
}
