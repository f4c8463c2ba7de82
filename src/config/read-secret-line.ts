import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { kill } from 'node:process';
import type { Readable } from 'node:stream';
import { CredentialsError, describeFileError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { readFileChunks, readStdin } from '../platform/input.ts';
import { toSentenceCase } from '../platform/to-sentence-case.ts';

/** In bytes, which are characters: a token is ASCII. */
const MAX_TOKEN_LENGTH = 16 * 1024;

/**
 * Reads the first line that is not blank, without waiting for the end of the stream.
 * @param from names the stream in messages: `standard input`
 * @returns '' if there is none
 * @throws CredentialsError if the line is too long for a token; the stream's error
 */
async function readFirstLine(chunks: AsyncIterable<Buffer | string>, from: string): Promise<string> {
  let text = '';
  for await (const chunk of chunks) {
    text += String(chunk);
    const [, line] = /^\s*(\S[^\r\n]*)[\r\n]/.exec(text) ?? [];
    if ((line ?? text).length > MAX_TOKEN_LENGTH) {
      throw new CredentialsError(`The first line of ${from} is longer than ${MAX_TOKEN_LENGTH / 1024} KiB.`, {
        hint: 'The first line must be only the token or the password.',
      });
    }
    if (line !== undefined) return line;
  }
  return text;
}

/**
 * Reads the first line of a token file.
 * @param fixHint the hint if it cannot be read
 * @throws CredentialsError if it cannot be read; the signal's reason
 */
export async function readTokenFile(
  { path, fixHint }: { readonly path: string; readonly fixHint: string },
  signal: AbortSignal,
): Promise<string> {
  try {
    return await readFirstLine(readFileChunks(path, signal), path);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CredentialsError) throw error;
    const why = describeFileError(error);
    throw new CredentialsError(`The token file ${path} cannot be read.`, { why, hint: fixHint, cause: error });
  }
}

/** Reads the first line of standard input. @throws CredentialsError as `readFirstLine`; the signal's reason */
export async function readTokenFromStdin(stdin: Readable, signal: AbortSignal): Promise<string> {
  return readFirstLine(readStdin(stdin, signal), 'standard input');
}

/** How long a command may take, in milliseconds. It may ask the user to unlock a password manager. */
const COMMAND_LIMIT_MS = 60_000;

/** Whether this process has a controlling terminal. Always true where there is no /dev/tty, such as on Windows. */
async function hasTerminal(): Promise<boolean> {
  try {
    await (await open('/dev/tty', constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))).close();
    return true;
  } catch (error) {
    return errorCode(error) !== 'ENXIO';
  }
}

function commandFailed(what: string, why: string): CredentialsError {
  return new CredentialsError(`${toSentenceCase(what)} failed.`, {
    why,
    hint: 'Run the command in a shell. Its first line of output must be the token or the password.',
  });
}

/** Resolves when the command has exited with 0. @throws CredentialsError if it failed; AbortError */
async function waitForSuccess(child: ChildProcess, what: string, signal: AbortSignal): Promise<void> {
  const [code, killedBy] = await once(child, 'exit', { signal }).catch((error: unknown) => {
    throw signal.aborted ? error : commandFailed(what, String(error));
  });
  if (code !== 0) throw commandFailed(what, killedBy ? `killed by ${killedBy}` : `exit code ${code}`);
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
    // The whole group has exited.
  }
}

/**
 * Runs a shell command and returns the first line of its output.
 * @param what names the command in messages: `profile "acme"'s token_command`
 * @throws CredentialsError (never with the output) if it fails, or takes longer than `limitMs`; the signal's reason
 */
export async function runSecretCommand(
  command: string,
  what: string,
  signal: AbortSignal,
  limitMs = COMMAND_LIMIT_MS,
): Promise<string> {
  // A process group of its own would cut the command off from the terminal, where it may ask for a password.
  const detached = !(await hasTerminal());
  signal.throwIfAborted();
  const ended = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  const child = spawn(command, { shell: true, detached, stdio: ['ignore', 'pipe', 'inherit'] });
  const { stdout } = child;
  try {
    // Closing the pipe after the first line would make the command fail.
    const line = readFirstLine(stdout.iterator({ destroyOnReturn: false }), what).finally(() => stdout.resume());
    // Do not wait for the end of the output: a background process can keep the pipe open.
    const [token] = await Promise.all([line, waitForSuccess(child, what, ended)]);
    return token;
  } catch (error) {
    if (ended.aborted || child.exitCode === null) endCommand(child, detached);
    signal.throwIfAborted();
    throw ended.aborted ? commandFailed(what, `no result within ${limitMs / 1000} s`) : error;
  } finally {
    stdout.destroy();
  }
}
