import { listSpaces } from '../api/spaces.ts';
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
  readonly verify: boolean;
}

/** Flag, then environment, then a question, then standard input: the first that is there. */
async function tokenSource(context: Context, { tokenCommand }: Input): Promise<TokenSource> {
  const { flags, env, io } = context;
  if (tokenCommand !== undefined) return { kind: 'command', command: tokenCommand, from: '--token-command' };
  if (flags.tokenFile !== undefined) return { kind: 'file', path: flags.tokenFile, from: '--token-file' };
  if (env.PARTNER_TOKEN) {
    await context.notice('The token is taken from PARTNER_TOKEN.');
    return { kind: 'text', token: env.PARTNER_TOKEN, from: 'PARTNER_TOKEN' };
  }
  if (context.isInteractive) {
    return { kind: 'text', token: await context.askSecret('Partner token'), from: 'the prompt' };
  }
  if (!io.stdin.isTTY) return { kind: 'file', path: '-', from: 'standard input' };
  throw new UsageError('There is no token, and nothing may be asked.', {
    hint: 'Give --token-file <path>, or - to read it from standard input.',
  });
}

/** A token that may not list spaces is still a token that the service knows. */
async function verify(context: Context, baseUrl: string, token: string): Promise<void> {
  const http = await context.httpTo(baseUrl, token);
  context.progress.start('Trying the token');
  try {
    await listSpaces(http).next();
  } catch (error) {
    if (!(error instanceof CredentialsError) || error.info.status !== 403) throw error;
    await context.warn('the service knows the token, but it may not list spaces (403).');
  } finally {
    context.progress.stop();
  }
}

export default command<Input>({
  description:
    'Stores the address of a service and a token in a profile, after a call that tries them. The token is asked for, or read from standard input, a file or a command.',
  flags: [
    {
      usage: '--token-command <command>',
      description: 'store this command instead of a token; its first line of output is the token',
    },
    { usage: '--no-verify', description: 'store without a call to the service' },
  ],
  examples: [
    { line: 'partnerctl login --base-url https://api.example.com/v1', does: 'asks for the token' },
    {
      line: 'partnerctl login --profile acme --base-url https://api.example.com/v1 --token-file - < token.txt',
      does: 'a profile of its own, with a token from a file',
    },
    {
      line: "partnerctl login --base-url https://api.example.com/v1 --token-command 'pass show partner'",
      does: 'the token stays in the password store',
    },
  ],
  parse: (words) => ({ tokenCommand: words.value('token-command'), verify: words.isSet('verify') }),
  async run(context, input) {
    const { flags, env } = context;
    if (input.tokenCommand !== undefined && flags.tokenFile !== undefined) {
      throw new UsageError('--token-command and --token-file exclude each other.');
    }
    const stored = await context.config.read();
    const name = flags.profile ?? (env.PARTNER_PROFILE || stored.current || DEFAULT_PROFILE);
    const before = stored.profiles[name];
    const address = flags.baseUrl ?? (env.PARTNER_BASE_URL || before?.base_url);
    if (address === undefined) {
      throw new UsageError('No base address is given.', { hint: 'Give --base-url https://…/v1.' });
    }
    const baseUrl = parseBaseUrl(
      address,
      flags.baseUrl === undefined ? 'PARTNER_BASE_URL or the profile' : '--base-url',
    );
    const token = await fetchToken(await tokenSource(context, input), context.io.stdin, context.abortSignal);
    context.addSecret(token);
    if (input.verify) await verify(context, baseUrl, token);
    const profile: Profile = {
      base_url: baseUrl,
      ...(input.tokenCommand === undefined ? { token } : { token_command: input.tokenCommand }),
    };
    const first = Object.keys(stored.profiles).length === 0;
    const next = withProfile(stored, name, profile);
    await context.config.write(first ? { ...next, current: name } : next);
    const answer = {
      profile: name,
      base_url: baseUrl,
      token: input.tokenCommand === undefined ? 'stored' : 'command',
      verified: input.verify,
    };
    return objectResult(answer, [
      { header: 'PROFILE', value: ({ profile: shown }) => shown },
      { header: 'BASE URL', value: ({ base_url }) => base_url },
      { header: 'TOKEN', value: ({ token: kept }) => kept },
    ]);
  },
});
