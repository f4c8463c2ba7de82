import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { kill } from 'node:process';
import type { Readable } from 'node:stream';
import { describeFileError, readFileChunks, readStdin } from '../cli/input.ts';
import { CredentialsError } from '../errors.ts';
import type { TokenSource } from './settings.ts';

/** In bytes, which are characters: a token is ASCII. */
const MAX_TOKEN_LENGTH = 16 * 1024;

/**
 * Checks that a token is a valid header value: printable ASCII without spaces.
 * @returns the token without surrounding whitespace
 * @throws CredentialsError; its message does not contain the token
 */
export function checkToken(text: string, from: string): string {
  const token = text.trim();
  if (token === '') throw new CredentialsError(`The token from ${from} is empty.`);
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new CredentialsError(`The token from ${from} contains characters that no token has.`, {
      hint: 'A token is one line of printable ASCII without spaces.',
    });
  }
  return token;
}

/**
 * Reads the first line that is not blank, without waiting for the end of the stream.
 * @throws CredentialsError if the line is longer than a token can be; what the stream throws
 */
async function readFirstLine(chunks: AsyncIterable<Buffer | string>, from: string): Promise<string> {
  let text = '';
  for await (const chunk of chunks) {
    text += String(chunk);
    const [, line] = /^\s*(\S[^\r\n]*)[\r\n]/.exec(text) ?? [];
    if ((line ?? text).length > MAX_TOKEN_LENGTH) {
      throw new CredentialsError(`The first line of ${from} is longer than ${MAX_TOKEN_LENGTH / 1024} KiB.`, {
        hint: 'The first line must be the token, and nothing else.',
      });
    }
    if (line !== undefined) return line;
  }
  return text;
}

async function readFromFile(path: string, signal: AbortSignal): Promise<string> {
  try {
    return checkToken(await readFirstLine(readFileChunks(path, signal), path), path);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CredentialsError) throw error;
    const why = describeFileError(error);
    throw new CredentialsError(`The token file ${path} cannot be read.`, { why, cause: error });
  }
}

/** Whether this process has a terminal. False on POSIX systems only, because only they have process groups. */
async function hasTerminal(): Promise<boolean> {
  try {
    await (await open('/dev/tty', constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))).close();
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ENXIO');
  }
}

/** Resolves when the command has exited with 0. @throws CredentialsError if it failed; AbortError */
async function waitForSuccess(child: ChildProcess, from: string, signal: AbortSignal): Promise<void> {
  const failed = (why: string): CredentialsError =>
    new CredentialsError(`The token_command of ${from} failed.`, {
      why,
      hint: 'Run the command in a shell. Its first line of output must be the token.',
    });
  const [code, killedBy] = await once(child, 'exit', { signal }).catch((error: unknown) => {
    throw signal.aborted ? error : failed(String(error));
  });
  if (code !== 0) throw failed(killedBy ? `killed by ${killedBy}` : `exit code ${code}`);
}

/** Ends the command and, if it has a process group of its own, everything that it started. */
function endCommand(child: ChildProcess, hasGroup: boolean): void {
  if (!hasGroup || child.pid === undefined) {
    child.kill();
    return;
  }
  try {
    kill(-child.pid, 'SIGTERM');
  } catch {
    // All of them have ended.
  }
}

async function runTokenCommand(command: string, from: string, signal: AbortSignal): Promise<string> {
  const { spawn } = await import('node:child_process');
  // A process group of its own takes away the terminal, on which the command may ask for a password.
  const detached = !(await hasTerminal());
  signal.throwIfAborted();
  const child = spawn(command, { shell: true, detached, stdio: ['ignore', 'pipe', 'inherit'] });
  const { stdout } = child;
  const origin = `the token_command of ${from}`;
  try {
    // Closing the pipe after the first line would make the command fail.
    const line = readFirstLine(stdout.iterator({ destroyOnReturn: false }), origin).finally(() => stdout.resume());
    // Does not wait for the end of the output: a process in the background can keep the pipe open.
    const [token] = await Promise.all([line, waitForSuccess(child, from, signal)]);
    return checkToken(token, origin);
  } catch (error) {
    if (signal.aborted || child.exitCode === null) endCommand(child, detached);
    throw signal.aborted ? signal.reason : error;
  } finally {
    stdout.destroy();
  }
}

/**
 * Reads the token from its configured source.
 * @param signal cancels reading
 * @param profile the profile to log in to if there is no source; the current one if undefined
 * @throws CredentialsError if the token is missing or invalid (the message never contains it); the signal's reason if
 * the signal aborts
 */
export async function fetchToken(
  source: TokenSource | undefined,
  stdin: Readable,
  signal: AbortSignal,
  profile?: string,
): Promise<string> {
  switch (source?.kind) {
    case 'file':
      if (source.path !== '-') return readFromFile(source.path, signal);
      return checkToken(await readFirstLine(readStdin(stdin, signal), 'standard input'), 'standard input');
    case 'text':
      return checkToken(source.token, source.from);
    case 'command':
      return runTokenCommand(source.command, source.from, signal);
    default:
      throw new CredentialsError('No token is configured.', {
        hint: `Set PARTNER_TOKEN, give --token-file <path>, or run \`partnerctl login${profile === undefined ? '' : ` --profile ${profile}`}\`.`,
      });
  }
}
