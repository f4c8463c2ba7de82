import { readFileSync } from 'node:fs';

/**
 * Reads a text that ships with the program, such as `help/chat.md`. The relative path also works from dist/program, because
 * the build copies these files to dist.
 * @throws Error if the program has no such file
 */
export function readAsset(path: string): string {
  return readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
}
