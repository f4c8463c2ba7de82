import type { Readable } from 'node:stream';
import { CredentialsError } from '../errors.ts';
import type { TokenSource } from './token-sources.ts';

/** What tokens are read from. */
export interface TokenReaders {
  /** A function, because reading `io.stdin` opens it. */
  readonly stdin: () => Readable;
  /** Cancels reading. */
  readonly signal: AbortSignal;
}

/**
 * Trims a token, and checks that it is a valid header value: printable ASCII without spaces.
 * @throws CredentialsError otherwise; its message does not contain the token
 */
export function parseToken(text: string, { from, fixHint }: Pick<TokenSource, 'from' | 'fixHint'>): string {
  const token = text.trim();
  if (token === '') throw new CredentialsError(`The token from ${from} is empty.`, { hint: fixHint });
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new CredentialsError(`The token from ${from} contains invalid characters.`, {
      why: 'A token is one line of printable ASCII without spaces.',
      hint: fixHint,
    });
  }
  return token;
}

/**
 * Reads the token from its configured source.
 * @param login the command that stores a token, for the hint if there is no source
 * @throws CredentialsError if the token is missing or invalid (the message never contains it); the signal's reason if
 * the signal aborts
 */
export async function readToken(
  source: TokenSource | undefined,
  { stdin, signal }: TokenReaders,
  login = 'partnerctl login',
): Promise<string> {
  switch (source?.kind) {
    case 'text':
      return parseToken(source.token, source);
    case 'file': {
      const { readTokenFile, readTokenFromStdin } = await import('./read-secret-line.ts');
      const isStdin = source.path === '-';
      return parseToken(await (isStdin ? readTokenFromStdin(stdin(), signal) : readTokenFile(source, signal)), source);
    }
    case 'command': {
      const { runSecretCommand } = await import('./read-secret-line.ts');
      return parseToken(await runSecretCommand(source.command, source.from, signal), source);
    }
    case 'keychain':
      throw new CredentialsError(`The token of ${source.from} is in the keychain, which partnerctl no longer reads.`, {
        hint: source.fixHint,
      });
    default:
      throw new CredentialsError('No token is configured.', {
        hint: `Set PARTNER_TOKEN, give --token-file <path>, or run \`${login}\`.`,
      });
  }
}
