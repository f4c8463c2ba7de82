import { describeFileError, InputError } from '../errors.ts';
import { decodeText, readFileChunks, readStdin, type TextSource } from '../platform/input.ts';
import type { Context } from './context.ts';

/** Prevents reading a wrong file or an endless stream into memory; no text for an agent is this long. */
export const MAX_TEXT_MIB = 16;

/** Parses a flag value of the form `<text|@file|->`. */
export function parseTextArgument(text: string): TextSource {
  if (text === '-') return { from: 'stdin' };
  return text.startsWith('@') ? { from: 'file', path: text.slice(1) } : { from: 'argument', text };
}

/**
 * Reads a text. Does not change its line endings.
 * @param what the subject of the error messages: `message`
 * @throws InputError if the text cannot be read, is not UTF-8, or is empty and may not be; the signal's reason
 */
export async function readText(
  { io, abortSignal: signal }: Pick<Context, 'io' | 'abortSignal'>,
  source: TextSource,
  what: string,
  { maxMib = MAX_TEXT_MIB, mayBeEmpty = false } = {},
): Promise<string> {
  if (source.from === 'argument') return source.text;
  const isStdin = source.from === 'stdin';
  try {
    const text = await decodeText(isStdin ? readStdin(io.stdin, signal) : readFileChunks(source.path, signal), maxMib);
    if (text === '' && !mayBeEmpty) throw new Error('it is empty');
    return text;
  } catch (error) {
    signal.throwIfAborted();
    const why = describeFileError(error);
    const place = isStdin ? 'standard input' : source.path;
    throw new InputError(`The ${what} cannot be read from ${place}.`, { why, hint: 'Nothing was sent.' });
  }
}
