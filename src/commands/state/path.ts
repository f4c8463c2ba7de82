import { command } from '../../cli/command.ts';
import { LocalError } from '../../errors.ts';
import { objectResult } from '../../output/command-result.ts';
import { sanitizeLine } from '../../output/sanitize.ts';
import { findStateFile, isPathTaken, isWritable } from '../../state/state-file.ts';

/** What is at the place, and why it cannot serve as the state file where it cannot. */
async function look(path: string) {
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
    'Prints where the state file is, whether or not there is one yet. The JSON form says what decided it, how large it is, and whether it can be written.',
  examples: [
    { line: 'partnerctl state path', does: 'the path alone' },
    { line: 'partnerctl state path -o json', does: 'with what decided it: a flag, a variable, or the default' },
  ],
  parse: () => undefined,
  async run(context) {
    const { path, from } = await context.stateLocation();
    const answer = { path, from, ...(await look(path)) };
    if (answer.problem !== null) await context.warn(`it cannot be used as the state file: ${answer.problem}`);
    return { ...objectResult(answer, []), text: `${sanitizeLine(path)}\n` };
  },
});
