import { DEFAULT_PROFILE } from '../config/profiles.ts';
import { describeFileError, InputError } from '../errors.ts';
import type { Bundle } from '../sandbox/replay/bundle.ts';
import { parseJsonText } from '../yaml/json-text.ts';
import type { Context } from './context.ts';
import { readFileChunks, streamLines } from './input.ts';

/** No line that `doctor --bundle` writes is longer. */
const MAX_LINE_MIB = 16;

function lineError(path: string, line: number, column: number, why: string): InputError {
  return new InputError(`${path} is not a bundle that can be replayed.`, {
    why: `${path}:${line}:${column}: ${why}`,
    hint: 'Name a file that `partnerctl doctor --bundle <file>` wrote. Nothing was started.',
    details: { file: path, line, column },
  });
}

/**
 * Reads a bundle that `doctor --bundle` wrote.
 * @throws InputError if the file cannot be read, or with line and column if a line is invalid; the signal's reason
 */
export async function readReplay(path: string, signal: AbortSignal): Promise<Bundle> {
  const { BundleLineError, BundleReader } = await import('../sandbox/replay/bundle.ts');
  const reader = new BundleReader();
  let line = 0;
  let text = '';
  try {
    for await (const bytes of streamLines(readFileChunks(path, signal), MAX_LINE_MIB)) {
      line += 1;
      text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      if (text.trim() === '') continue;
      const parsed = parseJsonText(text);
      if ('at' in parsed) throw lineError(path, line, parsed.at + 1, parsed.message);
      reader.add(parsed.value);
    }
    return reader.end();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InputError) throw error;
    if (error instanceof BundleLineError) {
      const at = error.key === undefined ? -1 : text.indexOf(`${JSON.stringify(error.key)}:`);
      throw lineError(path, Math.max(1, line), at + 1 || 1, error.message);
    }
    if (error instanceof TypeError) throw lineError(path, line, 1, 'it is not UTF-8 text');
    throw new InputError(`The bundle cannot be read from ${path}.`, { why: describeFileError(error), cause: error });
  }
}

/**
 * Creates a temporary directory of profiles with the bundle's contract, so that clients send the requests that were recorded.
 * @param baseUrl the base URL of the sandbox that replays the bundle
 * @returns the directory, which the caller removes
 */
export async function writeReplayConfig(
  bundle: Bundle,
  baseUrl: string,
  context: Pick<Context, 'clock' | 'random' | 'abortSignal'>,
): Promise<string> {
  const [{ makeTemporaryDirectory }, { updateContract, updateObserved }] = await Promise.all([
    import('../config/temporary-file.ts'),
    import('../config/contract-file.ts'),
  ]);
  const directory = await makeTemporaryDirectory('replay');
  const { clock, random, abortSignal: signal } = context;
  const deps = { clock, random, signal };
  const valuesFrom = (wanted: string) =>
    bundle.contract.filter(({ source }) => source === wanted).map(({ leaf, value }) => [leaf, value] as const);
  const [overrides, imported, observed] = [valuesFrom('override'), valuesFrom('imported'), valuesFrom('observed')];
  const key = { profile: DEFAULT_PROFILE, baseUrl };
  if (overrides.length + imported.length > 0) {
    const stored = { overrides: Object.fromEntries(overrides), imported: Object.fromEntries(imported) };
    await updateContract(directory, key, () => stored, deps);
  }
  if (observed.length > 0) await updateObserved(directory, baseUrl, new Map(observed), deps);
  return directory;
}
