import { tryToken } from '../api/spaces.ts';
import { command } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { parseBaseUrl } from '../config/base-url.ts';
import { DEFAULT_PROFILE, type Profile, withProfile } from '../config/profiles.ts';
import type { TokenSource } from '../config/settings.ts';
import { fetchToken } from '../config/token.ts';
import { CredentialsError, UsageError } from '../errors.ts';
import { objectResult } from '../output/command-result.ts';

interface Input {
  readonly tokenCommand: string | undefined;
  readonly passwordCommand: string | undefined;
  readonly verify: boolean;
}

/** The first that is available: a flag, PARTNER_TOKEN, a prompt, standard input. */
async function tokenSource(context: Context, tokenCommand: string | undefined): Promise<TokenSource> {
  const { flags, env, io } = context;
  if (tokenCommand !== undefined) return { kind: 'command', command: tokenCommand, from: '--token-command' };
  if (flags.tokenFile !== undefined) return { kind: 'file', path: flags.tokenFile, from: '--token-file' };
  if (env.PARTNER_TOKEN) {
    await context.notice('Storing the token from PARTNER_TOKEN.');
    return { kind: 'text', token: env.PARTNER_TOKEN, from: 'PARTNER_TOKEN' };
  }
  if (context.isInteractive) {
    return { kind: 'text', token: await context.askSecret('Partner token'), from: 'the prompt' };
  }
  if (!io.stdin.isTTY) return { kind: 'file', path: '-', from: 'standard input' };
  throw new UsageError('There is no token, and --no-input or CI forbids asking for it.', {
    hint: 'Give --token-file <path>, or --token-file - to read it from standard input.',
  });
}

/** Makes a call with the token. One that cannot list spaces (403) is still valid. */
async function verifyToken(context: Context, baseUrl: string, token: string): Promise<void> {
  const http = await context.httpTo(baseUrl, token);
  context.progress.start('Verifying the token');
  try {
    await tryToken(http);
  } catch (error) {
    if (!(error instanceof CredentialsError) || error.info.status !== 403) throw error;
    await context.warn('The service accepts the token, but the token cannot list spaces (403).');
  } finally {
    context.progress.stop();
  }
}

type StateSettings = Pick<Profile, 'state' | 'state_password_command'>;

/** The state of the profile: the flags, else what it has. A stored command is only for the address that it was stored with. */
async function stateSettings(
  context: Context,
  stored: Profile | undefined,
  passwordCommand: string | undefined,
): Promise<StateSettings> {
  const state = context.flags.state ?? stored?.state;
  if (context.flags.state !== undefined) await context.stateLocation();
  const command = passwordCommand ?? (state === stored?.state ? stored?.state_password_command : undefined);
  if (passwordCommand !== undefined && !/^postgres(ql)?:/.test(state ?? '')) {
    throw new UsageError('--state-password-command needs a state in a database.', {
      hint: 'Add --state postgres://user@host/database.',
    });
  }
  return { ...(state !== undefined && { state }), ...(command !== undefined && { state_password_command: command }) };
}

export default command<Input>({
  description:
    "Stores a service's base URL and a token in a profile, after a call that verifies them. The token comes from a prompt, standard input, a file, or a command. With --state, the profile also keeps where the state is.",
  flags: [
    {
      usage: '--token-command <command>',
      description: 'store this command instead of a token; its first line of output is the token',
    },
    {
      usage: '--state-password-command <command>',
      description: "store this command, too; its first line of output is the password of the state's database",
    },
    { usage: '--no-verify', description: 'store without calling the service' },
  ],
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
    tokenCommand: args.value('token-command'),
    passwordCommand: args.value('state-password-command'),
    verify: args.isSet('verify'),
  }),
  async run(context, { tokenCommand, passwordCommand, verify }) {
    const { flags, env, config, io } = context;
    if (tokenCommand !== undefined && flags.tokenFile !== undefined) {
      throw new UsageError('--token-command and --token-file cannot be combined.');
    }
    const stored = await config.read();
    const name = flags.profile ?? (env.PARTNER_PROFILE || stored.current || DEFAULT_PROFILE);
    const typedUrl = flags.baseUrl ?? (env.PARTNER_BASE_URL || stored.profiles[name]?.base_url);
    if (typedUrl === undefined) {
      throw new UsageError('No base URL is given.', { hint: 'Give --base-url https://…/v1.' });
    }
    const from = flags.baseUrl === undefined ? 'PARTNER_BASE_URL or the profile' : '--base-url';
    const base_url = parseBaseUrl(typedUrl, from);
    const token = await fetchToken(await tokenSource(context, tokenCommand), io.stdin, context.abortSignal);
    context.addSecret(token);
    if (verify) await verifyToken(context, base_url, token);
    const state = await stateSettings(context, stored.profiles[name], passwordCommand);
    const profile: Profile = {
      base_url,
      ...(tokenCommand === undefined ? { token } : { token_command: tokenCommand }),
      ...state,
    };
    await config.update((latest) => {
      const isFirst = Object.keys(latest.profiles).length === 0;
      const changed = withProfile(latest, name, profile);
      return isFirst ? { ...changed, current: name } : changed;
    });
    const kind = tokenCommand === undefined ? 'stored' : 'command';
    return objectResult({ profile: name, base_url, token: kind, verified: verify }, [
      { header: 'PROFILE', value: (result) => result.profile },
      { header: 'BASE URL', value: (result) => result.base_url },
      { header: 'TOKEN', value: (result) => result.token },
    ]);
  },
});
