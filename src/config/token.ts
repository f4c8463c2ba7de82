import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { describeFileError, readStdin } from '../cli/input.ts';
import { CredentialsError } from '../errors.ts';
import type { TokenSource } from './settings.ts';

const MAX_TOKEN_BYTES = 16 * 1024;

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

function firstLine(text: string): string {
  return /^\s*([^\r\n]*)/.exec(text)?.[1] ?? '';
}

/** Reads the token from the first line of standard input, without waiting for the end of input. */
async function readFromStdin(stdin: Readable, signal: AbortSignal): Promise<string> {
  let text = '';
  for await (const chunk of readStdin(stdin, signal)) {
    text += String(chunk);
    if (text.length > MAX_TOKEN_BYTES || /\S[^\r\n]*[\r\n]/.test(text)) break;
  }
  return checkToken(firstLine(text), 'standard input');
}

async function readFromFile(path: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const why = describeFileError(error);
    throw new CredentialsError(`The token file ${path} cannot be read.`, { why, cause: error });
  }
  return checkToken(firstLine(text), path);
}

async function runTokenCommand(command: string, from: string, signal: AbortSignal): Promise<string> {
  const { spawn } = await import('node:child_process');
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'inherit'], signal });
  let output = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk: string) => {
    if (output.length < MAX_TOKEN_BYTES) output += chunk;
  });
  const failure = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, killedBy) =>
      resolve(code === 0 ? undefined : killedBy ? `killed by ${killedBy}` : `exit code ${code}`),
    );
  });
  signal.throwIfAborted();
  if (failure !== undefined) {
    throw new CredentialsError(`The token_command of ${from} failed.`, {
      why: failure,
      hint: 'Run the command in a shell. Its first line of output must be the token.',
    });
  }
  return checkToken(firstLine(output), `the token_command of ${from}`);
}

/**
 * Reads the token from its configured source.
 * @param signal cancels reading from standard input or a command
 * @throws CredentialsError if the token is missing or invalid (the message never contains it); the signal's reason if
 * the signal aborts
 */
export async function fetchToken(
  source: TokenSource | undefined,
  stdin: Readable,
  signal: AbortSignal,
): Promise<string> {
  switch (source?.kind) {
    case 'file':
      return source.path === '-' ? readFromStdin(stdin, signal) : readFromFile(source.path);
    case 'text':
      return checkToken(source.token, source.from);
    case 'command':
      return runTokenCommand(source.command, source.from, signal);
    default:
      throw new CredentialsError('No token is configured.', {
        hint: 'Set PARTNER_TOKEN, give --token-file <path>, or run `partnerctl login`.',
      });
  }
}
