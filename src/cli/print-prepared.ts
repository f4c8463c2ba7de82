import { fstatSync, writeSync } from 'node:fs';
import pkg from '../../package.json' with { type: 'json' };
import { readAsset } from './installation.ts';

/** The width of the help.txt that the build renders. Pipes and most terminals have this width. */
const PRERENDERED_COLUMNS = 80;

/** Whether the prerendered text fits standard output. Only a device can be a terminal with a different width. */
function hasPrerenderedWidth(): boolean {
  if (!fstatSync(1).isCharacterDevice()) return true;
  return (process.stdout.columns ?? PRERENDERED_COLUMNS) === PRERENDERED_COLUMNS;
}

/** Returns what the build prepared as the output of these arguments, or undefined. @throws Error if a file is missing */
function preparedOutput(argv: readonly string[]): string | undefined {
  const line = argv.join(' ');
  if (line === '--version') return `${pkg.version}\n`;
  if (line === '--help') return hasPrerenderedWidth() ? readAsset('help.txt') : undefined;
  return /^help (-o ?|--output[ =])json$/.test(line) ? readAsset('help.json') : undefined;
}

/** Writes to standard output without loading streams. Ignores a closed pipe. @throws Error for any other failure */
function print(text: string): void {
  let rest = Buffer.from(text);
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(1, rest));
  } catch (error) {
    // A non-blocking pipe is full. A stream waits for its reader.
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EAGAIN') process.stdout.on('error', () => undefined).write(rest);
    else if (code !== 'EPIPE') throw error;
  }
}

/**
 * Prints output that the build prepared: the version, the help, or the description of all commands.
 * @returns false for other arguments, which need the program, and if the output cannot be written, which it reports
 */
export function printPrepared(argv: readonly string[]): boolean {
  try {
    const text = preparedOutput(argv);
    if (text === undefined) return false;
    print(text);
    return true;
  } catch {
    return false;
  }
}
