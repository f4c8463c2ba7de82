import type { Readable } from 'node:stream';
import { CredentialsError } from '../errors.ts';
import type { Keychain } from './keychain.ts';
import type { TokenSource } from './token-sources.ts';

/** What tokens are read from. */
export interface TokenReaders {
  /** A function, because reading `io.stdin` opens it. */
  readonly stdin: () => Readable;
  readonly openKeychain: () => Promise<Keychain>;
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

async function readFromKeychain(
  { account, from, fixHint, withoutKeychain }: Extract<TokenSource, { kind: 'keychain' }>,
  { openKeychain }: TokenReaders,
): Promise<string> {
  const { KeychainUnavailable } = await import('./keychain.ts');
  const name = `T${from.slice(1)}`;
  try {
    const token = await (await openKeychain()).get(account);
    if (token !== undefined) return token;
  } catch (error) {
    if (!(error instanceof KeychainUnavailable)) throw error;
    throw new CredentialsError(`${name} cannot be read.`, {
      why: error.message,
      hint: `Unlock it, or set PARTNER_TOKEN. To keep the token in the profile's file instead: ${withoutKeychain}`,
      cause: error,
    });
  }
  throw new CredentialsError(`${name} has no token.`, {
    why: `It has no item ${JSON.stringify(account)}.`,
    hint: fixHint,
  });
}

/**
 * Reads the token from its configured source.
 * @param login the command that stores a token, for the hint if there is no source
 * @throws CredentialsError if the token is missing or invalid (the message never contains it); the signal's reason if
 * the signal aborts
 */
export async function readToken(
  source: TokenSource | undefined,
  readers: TokenReaders,
  login = 'partnerctl login',
): Promise<string> {
  const { stdin, signal } = readers;
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
      return parseToken(await readFromKeychain(source, readers), source);
    default:
      throw new CredentialsError('No token is configured.', {
        hint: `Set PARTNER_TOKEN, give --token-file <path>, or run \`${login}\`.`,
      });
  }
}
