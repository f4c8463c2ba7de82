import type { TokenOrigin } from '../api/call-errors.ts';
import type { Http } from '../api/http.ts';
import { describeCall, tryToken } from '../api/verify-token.ts';
import { parseBaseUrl } from '../config/base-url.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import { type Profile, type Profiles, type ProfilesChange, tokenKind, withProtection } from '../config/profiles.ts';
import { readToken } from '../config/read-token.ts';
import { resolveProfileName } from '../config/settings.ts';
import { fixTokenFile, nameTokenFile, type TokenSource } from '../config/token-sources.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { CredentialsError, UsageError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment, Io } from '../platform/io.ts';
import { shellQuote } from '../platform/shell-quote.ts';

/** What storing a token needs of a command. */
export interface LoginContext {
  readonly io: Pick<Io, 'stdin'>;
  readonly env: Environment;
  readonly clock: Clock;
  readonly abortSignal: AbortSignal;
  readonly flags: GlobalFlags;
  readonly isInteractive: boolean;
  readonly progress: { start(text: string): void; stop(): void };
  readonly config: { read(): Promise<Profiles>; update(change: ProfilesChange): Promise<void> };
  addSecret(text: string): void;
  notice(text: string): Promise<void>;
  warn(text: string): Promise<void>;
  askSecret(question: string): Promise<string>;
  askText(question: string, check: (text: string) => string | true): Promise<string>;
  httpTo(baseUrl: string, token: string, origin: TokenOrigin): Promise<Http>;
  stateLocation(): Promise<unknown>;
}

export interface LoginOptions {
  readonly tokenCommand?: string;
  readonly statePasswordCommand?: string;
  readonly verify: boolean;
  readonly protect?: boolean;
}

function fileSource(path: string): TokenSource {
  return { kind: 'file', path, from: nameTokenFile(path), fixHint: `${fixTokenFile(path)}.` };
}

/** How long to wait for a token on standard input: a parent process often leaves it open without writing. */
const SILENCE_MS = 1000;

/** @throws UsageError if standard input holds another token than PARTNER_TOKEN: only one of them would be stored */
async function refuseSecondToken(context: LoginContext, fromEnvironment: string): Promise<void> {
  const { io, abortSignal, clock } = context;
  if (io.stdin.isTTY) return;
  const silent = new AbortController();
  const ended = new AbortController();
  const timer = clock.sleep(SILENCE_MS, ended.signal).then(
    () => silent.abort(),
    () => undefined,
  );
  const { readTokenFromStdin } = await import('../config/read-secret-line.ts');
  const readFirst = readTokenFromStdin(io.stdin, AbortSignal.any([silent.signal, abortSignal]));
  const piped = await readFirst.then(
    (token) => token.trim(),
    (error) => {
      if (!silent.signal.aborted) throw error;
      return '';
    },
  );
  ended.abort();
  await timer;
  if (piped === '' || piped === fromEnvironment.trim()) return;
  context.addSecret(piped);
  throw new UsageError('Standard input and PARTNER_TOKEN hold different tokens.', {
    hint: 'To store the one from standard input, unset PARTNER_TOKEN or add --token-file -. To store the one from PARTNER_TOKEN, add < /dev/null.',
  });
}

/** Whether the environment has a token for the service of PARTNER_BASE_URL, which is another one, such as the sandbox. */
function hasTokenForOther({ PARTNER_BASE_URL: other = '' }: Environment, baseUrl: string): boolean {
  return URL.canParse(other) && new URL(other).origin !== new URL(baseUrl).origin;
}

/** Chooses the first available source: a flag, PARTNER_TOKEN, a prompt, standard input. @throws UsageError if there is none */
async function tokenSource(
  context: LoginContext,
  tokenCommand: string | undefined,
  baseUrl: string,
): Promise<TokenSource> {
  const { flags, env, io } = context;
  if (tokenCommand !== undefined) {
    const fixHint = 'Give a command whose first line of output is a valid token.';
    return { kind: 'command', command: tokenCommand, from: '--token-command', fixHint };
  }
  if (flags.tokenFile !== undefined) return fileSource(flags.tokenFile);
  const isOther = env.PARTNER_TOKEN && context.isInteractive && hasTokenForOther(env, baseUrl);
  if (isOther) await context.notice(`PARTNER_TOKEN is not used: it is for ${env.PARTNER_BASE_URL} (PARTNER_BASE_URL).`);
  if (env.PARTNER_TOKEN && !isOther) {
    await refuseSecondToken(context, env.PARTNER_TOKEN);
    await context.notice('Storing the token from PARTNER_TOKEN.');
    const fixHint = 'Set a valid one, or unset it to store another token.';
    return { kind: 'text', token: env.PARTNER_TOKEN, from: 'PARTNER_TOKEN', fixHint };
  }
  if (context.isInteractive) {
    const token = await context.askSecret(`Partner token for ${baseUrl}`);
    return { kind: 'text', token, from: 'the prompt', fixHint: 'Run the command again, and enter a valid one.' };
  }
  if (!io.stdin.isTTY) return fileSource('-');
  const isForbidden = !flags.input || env.CI;
  const obstacle = isForbidden ? '--no-input or CI forbids asking for it' : 'stderr is not a terminal to ask for it';
  throw new UsageError(`There is no token, and ${obstacle}.`, {
    hint: 'Give --token-file <path>, or --token-file - to read it from standard input.',
  });
}

/** Validates a base URL from the prompt. @returns true, or the message for an invalid one */
function checkBaseUrl(text: string): string | true {
  try {
    parseBaseUrl(text.trim(), 'the prompt');
    return true;
  } catch (error) {
    if (error instanceof UsageError) return [error.message, error.info.hint].filter(Boolean).join(' ');
    throw error;
  }
}

/** Returns the base URL from a flag, the environment, the profile, or a prompt. @throws UsageError if it is missing or invalid */
async function findBaseUrl(context: LoginContext, stored: Profile | undefined): Promise<string> {
  const { flags, env } = context;
  if (flags.baseUrl !== undefined) return parseBaseUrl(flags.baseUrl, '--base-url');
  if (env.PARTNER_BASE_URL) return parseBaseUrl(env.PARTNER_BASE_URL, 'PARTNER_BASE_URL');
  if (stored?.base_url !== undefined) return parseBaseUrl(stored.base_url, 'the profile');
  if (!context.isInteractive) throw new UsageError('No base URL is given.', { hint: 'Give --base-url https://…/v1.' });
  const typed = await context.askText('Base URL of the service (https://…/v1)', checkBaseUrl);
  return parseBaseUrl(typed.trim(), 'the prompt');
}

/**
 * Verifies the token with a read. A token that may not list spaces (403) is still valid.
 * @returns the call: `GET https://api.example.com/v1/automation/spaces/`
 * @throws CredentialsError if the service rejects the token; the other errors of the call
 */
async function verifyBeforeStoring(
  context: LoginContext,
  baseUrl: string,
  token: string,
  source: TokenSource,
): Promise<string> {
  const http = await context.httpTo(baseUrl, token, source);
  const call = describeCall(http, OPERATIONS.listSpaces);
  context.progress.start(`Verifying the token: ${call}`);
  try {
    await tryToken(http);
  } catch (error) {
    if (!(error instanceof CredentialsError) || error.info.status !== 403) throw error;
    await context.warn(`The service accepts the token, but the token cannot list spaces (403): ${call}`);
  } finally {
    context.progress.stop();
  }
  return call;
}

type StateSettings = Pick<Profile, 'state' | 'state_password_command'>;

/**
 * Returns where the profile keeps its state: from the flags, else as stored. A stored password command is kept only with the
 * address that it was stored for.
 * @throws UsageError if the address or the command is invalid
 */
async function stateSettings(
  context: LoginContext,
  stored: Profile | undefined,
  passwordCommand: string | undefined,
): Promise<StateSettings> {
  const state = context.flags.state ?? stored?.state;
  if (context.flags.state !== undefined) await context.stateLocation();
  const command = passwordCommand ?? (state === stored?.state ? stored?.state_password_command : undefined);
  if (passwordCommand !== undefined && !/^postgres(ql)?:/.test(state ?? '')) {
    throw new UsageError('--state-password-command is only for a state in a database.', {
      hint: 'Add --state postgres://user@host/database.',
    });
  }
  return { ...(state !== undefined && { state }), ...(command !== undefined && { state_password_command: command }) };
}

/**
 * Stores the service and the token in a profile, after one call that verifies them.
 * @throws UsageError if the service or the token is missing; CredentialsError if the service rejects the token; the other
 * errors of the call
 */
export async function login(
  context: LoginContext,
  { tokenCommand, statePasswordCommand, verify, protect = false }: LoginOptions,
) {
  const { flags, config } = context;
  if (tokenCommand !== undefined && flags.tokenFile !== undefined) {
    throw new UsageError('--token-command and --token-file cannot be combined.');
  }
  const stored = await config.read();
  const name = resolveProfileName(flags, context.env, stored).value;
  const base_url = await findBaseUrl(context, stored.profiles[name]);
  const source = await tokenSource(context, tokenCommand, base_url);
  const token = await readToken(source, { stdin: () => context.io.stdin, signal: context.abortSignal });
  context.addSecret(token);
  const verified_by = verify ? await verifyBeforeStoring(context, base_url, token, source) : null;
  const state = await stateSettings(context, stored.profiles[name], statePasswordCommand);
  const profile: Profile = {
    base_url,
    ...(tokenCommand === undefined ? { token } : { token_command: tokenCommand }),
    ...state,
  };
  await config.update((latest) => {
    const isFirst = Object.keys(latest.profiles).length === 0;
    const changed = withProtection(latest, name, profile, protect || latest.profiles[name]?.protected === true);
    return isFirst ? { ...changed, current: name } : changed;
  });
  const { current } = await config.read();
  if (current !== name) {
    await context.notice(
      `${current} stays the current profile. To change that: partnerctl profile use ${shellQuote(name)}`,
    );
  }
  return { profile: name, base_url, token: tokenKind(profile), verified: verify, verified_by, current };
}
