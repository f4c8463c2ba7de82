import type { Readable } from 'node:stream';
import { CredentialsError } from '../errors.ts';
import type { TokenSource } from './settings.ts';

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
    case 'text':
      return checkToken(source.token, source.from);
    case 'file': {
      const { readTokenFile, readTokenFromStdin } = await import('./read-token.ts');
      if (source.path !== '-') return checkToken(await readTokenFile(source.path, signal), source.path);
      return checkToken(await readTokenFromStdin(stdin, signal), 'standard input');
    }
    case 'command': {
      const { runSecretCommand } = await import('./read-token.ts');
      const token = await runSecretCommand(source.command, `token_command of ${source.from}`, signal);
      return checkToken(token, `the token_command of ${source.from}`);
    }
    default:
      throw new CredentialsError('No token is configured.', {
        hint: `Set PARTNER_TOKEN, give --token-file <path>, or run \`partnerctl login${profile === undefined ? '' : ` --profile ${profile}`}\`.`,
      });
  }
}
