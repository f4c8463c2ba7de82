import { describeCall, tryToken } from '../api/verify-token.ts';
import { command } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { shellCommand } from '../cli/shell-command.ts';
import { parseBaseUrl } from '../config/base-url.ts';
import { type Profile, tokenKind, withProtection } from '../config/profiles.ts';
import { readToken } from '../config/read-token.ts';
import { resolveProfileName } from '../config/settings.ts';
import { fixTokenFile, nameTokenFile, type TokenSource } from '../config/token-sources.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { CredentialsError, UsageError } from '../errors.ts';
import { objectResult } from '../output/command-result.ts';

interface Input {
  readonly tokenCommand: string | undefined;
  readonly passwordCommand: string | undefined;
  readonly verify: boolean;
  readonly protect: boolean;
}

function fileSource(path: string): TokenSource {
  return { kind: 'file', path, from: nameTokenFile(path), fixHint: `${fixTokenFile(path)}.` };
}

/** How long to wait for a token on standard input: a parent process often leaves it open without writing. */
const SILENCE_MS = 1000;

/** @throws UsageError if standard input holds another token than PARTNER_TOKEN: only one of them would be stored */
async function refuseSecondToken(context: Context, fromEnvironment: string): Promise<void> {
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
function hasTokenForOther({ PARTNER_BASE_URL: other = '' }: Context['env'], baseUrl: string): boolean {
  return URL.canParse(other) && new URL(other).origin !== new URL(baseUrl).origin;
}

/** Chooses the first available source: a flag, PARTNER_TOKEN, a prompt, standard input. @throws UsageError if there is none */
async function tokenSource(context: Context, tokenCommand: string | undefined, baseUrl: string): Promise<TokenSource> {
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
async function findBaseUrl(context: Context, stored: Profile | undefined): Promise<string> {
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
  context: Context,
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
  context: Context,
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

export default command<Input>({
  description:
    "Stores a service's base URL and a token in a profile, after verifying them with one call. The token comes from a prompt, standard input, a file, or a command. With --state, the profile also stores where the state is.",
  flags: [
    {
      usage: '--token-command <command>',
      description: 'store this command instead of a token; its first line of output is the token',
    },
    {
      usage: '--state-password-command <command>',
      description: "also store this command; its first line of output is the password of the state's database",
    },
    { usage: '--protect', description: 'ask for the name of the profile before each write; see profile protect' },
    { usage: '--no-verify', description: 'store without calling the service' },
  ],
  exits: ['credentials', 'rateLimited', 'service'],
  examples: [
    { line: 'partnerctl login --base-url https://api.example.com/v1', does: 'ask for the token' },
    {
      line: 'partnerctl login --profile acme --base-url https://api.example.com/v1 --token-file - < token.txt',
      does: 'create a profile with a token from a file',
    },
    {
      line: "partnerctl login --base-url https://api.example.com/v1 --token-command 'pass show partner'",
      does: 'keep the token in a password manager',
    },
  ],
  parse: (args) => ({
    tokenCommand: args.nonEmpty('token-command'),
    passwordCommand: args.nonEmpty('state-password-command'),
    verify: args.isSet('verify'),
    protect: args.isSet('protect'),
  }),
  async run(context, { tokenCommand, passwordCommand, verify, protect }) {
    const { flags, config } = context;
    if (tokenCommand !== undefined && flags.tokenFile !== undefined) {
      throw new UsageError('--token-command and --token-file cannot be combined.');
    }
    const stored = await config.read();
    const name = resolveProfileName(flags, context.env, stored).value;
    const base_url = await findBaseUrl(context, stored.profiles[name]);
    const source = await tokenSource(context, tokenCommand, base_url);
    const token = await readToken(source, {
      stdin: () => context.io.stdin,
      signal: context.abortSignal,
    });
    context.addSecret(token);
    const verified_by = verify ? await verifyBeforeStoring(context, base_url, token, source) : null;
    const previous = stored.profiles[name];
    const state = await stateSettings(context, previous, passwordCommand);
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
        `${current} stays the current profile. To change that: ${shellCommand(['profile', 'use', name], {})}`,
      );
    }
    return objectResult(
      { profile: name, base_url, token: tokenKind(profile), verified: verify, verified_by, current },
      [
        { header: 'PROFILE', value: (result) => result.profile },
        { header: 'BASE URL', value: (result) => result.base_url },
        { header: 'TOKEN', value: (result) => result.token },
        { header: 'VERIFIED BY', value: (result) => result.verified_by },
        { header: 'CURRENT PROFILE', value: (result) => result.current },
      ],
    );
  },
});
