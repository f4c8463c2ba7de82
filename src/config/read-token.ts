import { once } from 'node:events';
import { CredentialsError, describeFileError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { readFileChunks, readStdin } from '../platform/input.ts';
import type { Io } from '../platform/io.ts';
import { toSentenceCase } from '../platform/text.ts';
import type { TokenSource } from './settings.ts';

/** What reading a token needs of a command. */
export interface TokenContext {
  readonly io: Pick<Io, 'stdin' | 'stderr'>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly abortSignal: AbortSignal;
  notice(text: string): Promise<void>;
}

/** A password manager may wait for somebody who does not see its window. */
const SLOW_MS = 3_000;
const EXIT_GRACE_MS = 100;

/** Reads the first line that is not blank, without waiting for the end of the stream. @returns '' if there is none */
async function readFirstLine(chunks: AsyncIterable<Buffer | string>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) {
    text += String(chunk);
    const [, line] = /^\s*(\S[^\r\n]*)[\r\n]/.exec(text) ?? [];
    if (line !== undefined) return line;
  }
  return text;
}

async function readTokenFile({ value: path, replaceHint }: TokenSource, { io, abortSignal: signal }: TokenContext) {
  try {
    return await readFirstLine(path === '-' ? readStdin(io.stdin, signal) : readFileChunks(path, signal));
  } catch (error) {
    signal.throwIfAborted();
    const why = describeFileError(error);
    throw new CredentialsError(`The token file ${path} cannot be read.`, { why, hint: replaceHint, cause: error });
  }
}

/**
 * Runs a shell command and returns the first line of its output.
 * @throws CredentialsError (never with the output) if it fails; the signal's reason
 */
async function runTokenCommand({ value, from }: TokenSource, context: TokenContext): Promise<string> {
  const { io, abortSignal: signal } = context;
  const { spawn } = await import('node:child_process');
  signal.throwIfAborted();
  // In our process group, so that it may ask for a password in the terminal. Not with our stderr, whose reader would wait
  // for a background process that keeps it open.
  const child = spawn(value, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const { stdout, stderr } = child;
  stderr.on('data', (chunk: Buffer) => void io.stderr.write(chunk.toString()));
  try {
    // Closing the pipe after the first line would make the command fail.
    const line = readFirstLine(stdout.iterator({ destroyOnReturn: false })).finally(() => stdout.resume());
    const success = once(child, 'exit', { signal }).then(async ([code, killedBy]) => {
      if (code === 0) return;
      // What it says about that may still be in the pipe.
      await Promise.race([once(child, 'close'), context.clock.sleep(EXIT_GRACE_MS, signal)]);
      throw new CredentialsError(`${toSentenceCase(from)} failed.`, {
        why: killedBy ? `killed by ${killedBy}` : `exit code ${code}`,
        hint: 'Run the command in a shell. Its first line of output must be the token.',
      });
    });
    // Do not wait for the end of the output: a background process can keep the pipe open.
    const [token] = await Promise.all([line, success]);
    return token;
  } catch (error) {
    child.kill();
    signal.throwIfAborted();
    throw error;
  } finally {
    stdout.destroy();
    stderr.destroy();
  }
}

/** Trims a token. @throws CredentialsError, which does not contain it, unless it is printable ASCII without spaces */
export function parseToken(text: string, { from, replaceHint }: Pick<TokenSource, 'from' | 'replaceHint'>): string {
  const token = text.trim();
  if (token === '') throw new CredentialsError(`The token from ${from} is empty.`, { hint: replaceHint });
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new CredentialsError(`The token from ${from} contains invalid characters.`, {
      why: 'A token is one line of printable ASCII without spaces.',
      hint: replaceHint,
    });
  }
  return token;
}

/** Reads the token. @throws CredentialsError (never with it) if it is invalid or cannot be read; the signal's reason */
export async function readToken(source: TokenSource, context: TokenContext): Promise<string> {
  const { kind, value, from } = source;
  if (kind === 'text') return parseToken(value, source);
  const read = new AbortController();
  const tell = () => context.notice(`Waiting for the token from ${from}.`);
  context.clock.sleep(SLOW_MS, read.signal).then(tell, () => undefined);
  try {
    return parseToken(await (kind === 'file' ? readTokenFile : runTokenCommand)(source, context), source);
  } finally {
    read.abort();
  }
}
