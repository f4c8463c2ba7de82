/** Takes the place of installation.ts in the single executable, which has Node, the program, and its texts in one file. */
import { getAsset } from 'node:sea';

/** Whether this is the single executable. */
export const IS_EXECUTABLE: boolean = true;

/** Reads a text from inside the executable, such as `help/chat.md`. @throws Error if the executable has no such text */
export function readAsset(path: string): string {
  return getAsset(path, 'utf8');
}
