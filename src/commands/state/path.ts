import { command } from '../../cli/command.ts';
import { LocalError } from '../../errors.ts';
import { objectResult } from '../../output/command-result.ts';
import { sanitizeLine } from '../../output/sanitize.ts';
import { findStateFile, isPathTaken, isWritable } from '../../state/state-file.ts';

/** Describes the file at a path, and why it cannot be used as the state file, if so. */
async function inspectPath(path: string) {
  try {
    const file = await findStateFile(path);
    const exists = file !== undefined;
    return { exists, bytes: file?.bytes ?? null, writable: await isWritable(path, exists), problem: null };
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    return { exists: await isPathTaken(path), bytes: null, writable: false, problem: error.info.why ?? error.message };
  }
}

export default command({
  description:
    'Prints the path of the state file, whether or not it exists. The JSON form says what set it, how large it is, and whether it can be written.',
  examples: [
    { line: 'partnerctl state path', does: 'the path alone' },
    { line: 'partnerctl state path -o json', does: 'with what set it: a flag, a variable, or the default' },
  ],
  parse: () => undefined,
  async run(context) {
    const { path, from } = await context.stateLocation();
    const result = { path, from, ...(await inspectPath(path)) };
    if (result.problem !== null) await context.warn(`this path cannot be used as the state file: ${result.problem}`);
    return { ...objectResult(result, []), text: `${sanitizeLine(path)}\n` };
  },
});
