import { resolve } from 'node:path';
import { verifyToken } from '../../../api/calls.ts';
import type { Http } from '../../../api/http.ts';
import { openHttp } from '../../../cli/clients.ts';
import type { Context } from '../../../cli/context.ts';
import { askSecret, askText, confirmProfile } from '../../../cli/prompts.ts';
import { parseBaseUrl } from '../../../config/base-url.ts';
import { nameProfile, tokenKind } from '../../../config/profiles.ts';
import { readToken } from '../../../config/read-token.ts';
import {
  type ActiveProfile,
  CURRENT,
  profileName,
  resolveBaseUrl,
  type TokenSource,
  tokenFileSource,
} from '../../../config/settings.ts';
import { UsageError } from '../../../errors.ts';
import { shellQuote } from '../../../platform/text.ts';
import { stateLocation } from '../../../state/location.ts';

interface LoginOptions {
  readonly tokenCommand?: string;
  readonly verify: boolean;
  readonly confirm?: string;
}

/** Chooses the first source: a flag, PARTNER_TOKEN, a prompt, standard input. @throws UsageError if there is none */
async function tokenSource(context: Context, command: string | undefined, baseUrl: string): Promise<TokenSource> {
  const { flags, env, io, prompts, warn } = context;
  const replaceHint = 'Run the command again with a valid token.';
  if (command !== undefined && flags.tokenFile !== undefined) {
    throw new UsageError('--token-command and --token-file cannot be combined.');
  }
  if (command !== undefined) return { kind: 'command', value: command, from: '--token-command', replaceHint };
  if (flags.tokenFile !== undefined) return tokenFileSource(flags.tokenFile);
  if (env.PARTNER_TOKEN) {
    // The token that was meant may wait on standard input, and cannot be shown again.
    await warn('Storing the token from PARTNER_TOKEN. To store another, unset it, or add --token-file <path|->.');
    return { kind: 'text', value: env.PARTNER_TOKEN, from: 'PARTNER_TOKEN', replaceHint };
  }
  if (prompts.isAvailable) {
    const value = await askSecret(context, `Partner token for ${baseUrl}`);
    return { kind: 'text', value, from: 'the prompt', replaceHint };
  }
  if (!io.stdin.isTTY) return tokenFileSource('-');
  throw new UsageError('There is no token, and nobody can be asked for it.', {
    hint: 'Give --token-file <path>, or --token-file - to read it from standard input.',
  });
}

async function findBaseUrl(context: Context, profile: ActiveProfile): Promise<string> {
  const configured = resolveBaseUrl(context, profile);
  if (configured) return configured.value;
  if (!context.prompts.isAvailable)
    throw new UsageError('No base URL is given.', { hint: 'Give --base-url https://…/v1.' });
  const typed = await askText(context, 'Base URL of the service (https://…/v1)');
  return parseBaseUrl(typed.trim(), 'the prompt');
}

/** Refuses to replace a profile that nobody named with another service. @throws UsageError */
function checkReplaced({ value: name, from, stored }: ActiveProfile, baseUrl: string): void {
  if (from !== CURRENT || stored?.base_url === undefined || stored.base_url === baseUrl) return;
  throw new UsageError(`The current ${nameProfile(name)} is for ${stored.base_url}, not for ${baseUrl}.`, {
    why: 'Nothing was sent.',
    hint: `To keep both, add --profile <name> with a new name. To replace it, add --profile ${shellQuote(name)}`,
  });
}

/** A token that may not read (403) is still valid. @returns the call that verified it */
async function verify(context: Context, http: Http): Promise<string> {
  context.progress.start('Verifying the token');
  const { status, verified_by, error } = await verifyToken(http);
  if (status === 'forbidden') {
    await context.warn(`The service accepts the token, but the token cannot list spaces (403): ${verified_by}`);
  } else if (error) {
    throw error;
  }
  return verified_by;
}

/**
 * Stores the service and the token in a profile, after one call that verifies them.
 * @throws UsageError if the service or the token is missing, or another profile would be replaced unasked;
 * CredentialsError if the service rejects the token
 */
export async function storeToken(context: Context, { tokenCommand, ...options }: LoginOptions) {
  const { flags, config } = context;
  const named = profileName(context);
  const name = named.value;
  // Unless it is a new one.
  const profile = { ...named, stored: config.find(name) };
  const base_url = await findBaseUrl(context, profile);
  checkReplaced(profile, base_url);
  await confirmProfile(context, profile, options.confirm, 'replace its token');
  const source = await tokenSource(context, tokenCommand, base_url);
  // A path must lead to the same file from every directory.
  const location = flags.state === undefined ? undefined : stateLocation(context);
  const chosen = location?.kind === 'file' ? resolve(location.path) : location && flags.state;
  const token = await readToken(source, context);
  context.redactor.add(token);
  const verified_by = options.verify
    ? await verify(context, await openHttp(context, { profile: name, baseUrl: base_url }, token, source))
    : null;
  const secret = tokenCommand === undefined ? { token } : { token_command: tokenCommand };
  if (config.names().length === 0) await config.use(name);
  await config.store(name, (latest) => ({
    ...{ base_url, ...secret, state: chosen ?? latest?.state },
    ...(latest?.protected && { protected: true }),
  }));
  const current = config.current();
  return { profile: name, base_url, token: tokenKind(secret), verified: options.verify, verified_by, current };
}
