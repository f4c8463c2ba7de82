import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { Environment } from '../platform/io.ts';

/** The tokens in the operating system's keychain, by account. Every method may throw KeychainUnavailable. */
export interface Keychain {
  /** Returns undefined if the account has no token. */
  get(account: string): Promise<string | undefined>;
  set(account: string, token: string): Promise<void>;
  /** Removes the token of an account, if there is one. */
  remove(account: string): Promise<void>;
}

/** The keychain cannot be used. The message is a sentence that says why. */
export class KeychainUnavailable extends Error {}

const LIBRARY = '@napi-rs/keyring';

/**
 * Runs in a process of its own, which can be killed: even the library's asynchronous calls block the process while the keychain
 * hangs or waits to be unlocked. Names the Secret Service on Linux, because the library would fall back to the kernel's
 * keyring, which loses tokens at a restart. The token travels through pipes.
 */
const SCRIPT = `
let text = '';
process.stdin.on('data', (chunk) => { text += chunk; }).on('end', () => {
  const { library, action, account, token } = JSON.parse(text);
  let result;
  try {
    const { Entry } = require(library);
    const entry = new Entry('partnerctl', account, { linux: { store: 'secret-service' } });
    if (action === 'set') entry.setPassword(token);
    if (action === 'remove') entry.deleteCredential();
    result = { token: entry.getPassword() };
  } catch (error) {
    result = { failure: String(error?.message ?? error) };
  }
  process.stdout.write(JSON.stringify(result));
});
`;

/** How long a keychain may take, in milliseconds. At a terminal, the user may have to unlock it first. */
const LIMIT_MS = { interactive: 60_000, unattended: 5_000 };

interface Request {
  readonly action: 'get' | 'set' | 'remove';
  readonly account: string;
  readonly token?: string;
}

function findLibrary(): string {
  try {
    return createRequire(import.meta.url).resolve(LIBRARY);
  } catch {
    throw new KeychainUnavailable(
      `Its library is not installed. Install it beside partnerctl: npm install --global ${LIBRARY}`,
    );
  }
}

/** Returns the token from the output of SCRIPT. @throws KeychainUnavailable */
function parseResult(text: string): string | undefined {
  let result: unknown;
  try {
    result = JSON.parse(text);
  } catch {
    throw new KeychainUnavailable('Its library crashed.');
  }
  const { token, failure } = Object(result);
  if (failure !== undefined) throw new KeychainUnavailable(`${String(failure).split('\n')[0]}.`.replace(/\.\.$/, '.'));
  return typeof token === 'string' ? token : undefined;
}

interface KeychainOptions {
  /** The path of Node; undefined in the single executable, which cannot load the library. */
  readonly node: string | undefined;
  /** Tells the library where the keychain is. */
  readonly env: Environment;
  /** Whether the user can be asked to unlock it. */
  readonly isInteractive: boolean;
  readonly signal: AbortSignal;
}

/** Runs the library once. @returns the account's token after the action @throws KeychainUnavailable; the signal's reason */
async function runLibrary(
  request: Request,
  { node, env, isInteractive, signal }: KeychainOptions,
): Promise<string | undefined> {
  if (node === undefined)
    throw new KeychainUnavailable('It needs partnerctl from npm: the single executable has no access.');
  const library = findLibrary();
  const limitMs = isInteractive ? LIMIT_MS.interactive : LIMIT_MS.unattended;
  const ended = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  signal.throwIfAborted();
  const child = spawn(node, ['-e', SCRIPT], { env, stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true });
  const end = () => void child.kill('SIGKILL');
  ended.addEventListener('abort', end, { once: true });
  try {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    // The child may exit before it has read everything.
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify({ library, ...request }));
    await once(child, 'close').catch((error: unknown) => {
      throw new KeychainUnavailable(`${String(error)}.`);
    });
    signal.throwIfAborted();
    if (!ended.aborted) return parseResult(output);
    throw new KeychainUnavailable(`It did not respond within ${limitMs / 1000} s. It may be locked.`);
  } finally {
    ended.removeEventListener('abort', end);
  }
}

/** Opens the user's keychain: Keychain on macOS, Credential Manager on Windows, the Secret Service elsewhere. */
export function systemKeychain(options: KeychainOptions): Keychain {
  return {
    get: (account) => runLibrary({ action: 'get', account }, options),
    async set(account, token) {
      const stored = await runLibrary({ action: 'set', account, token }, options);
      if (stored !== token) throw new KeychainUnavailable('It accepted the token, but does not return it.');
    },
    async remove(account) {
      await runLibrary({ action: 'remove', account }, options);
    },
  };
}
