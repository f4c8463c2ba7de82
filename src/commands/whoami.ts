import { type TokenStatus, verifyToken } from '../api/verify-token.ts';
import { command, SERVICE_EXITS } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { namesServiceAndToken, resolveService } from '../config/settings.ts';
import { CredentialsError, type PartnerctlError } from '../errors.ts';
import { type Column, listResult, type ReportLine, type Tone } from '../output/command-result.ts';

interface Identity {
  /** Null if no profile is in use. */
  readonly profile: string | null;
  readonly profile_from: string | null;
  readonly protected: boolean;
  readonly base_url: string;
  readonly base_url_from: string;
  /** Null if no token is configured. */
  readonly token_from: string | null;
  readonly token_status: TokenStatus | 'none';
  /** The call that verified the token; null if nothing was sent. */
  readonly verified_by: string | null;
  /** The settings that others override. */
  readonly overridden: readonly string[];
}

const TONES: Readonly<Record<Identity['token_status'], Tone>> = {
  accepted: 'good',
  rejected: 'bad',
  forbidden: 'bad',
  unknown: 'warn',
  none: 'bad',
};

const COLUMNS: readonly Column<Identity>[] = [
  { header: 'PROFILE', value: ({ profile, profile_from }) => profile && `${profile} (${profile_from})` },
  { header: 'PROTECTED', value: ({ profile, protected: isProtected }) => profile && (isProtected ? 'yes' : 'no') },
  { header: 'SERVICE', value: ({ base_url, base_url_from }) => `${base_url} (${base_url_from})` },
  { header: 'TOKEN FROM', value: ({ token_from }) => token_from },
  { header: 'TOKEN', value: ({ token_status }) => token_status, tone: ({ token_status }) => TONES[token_status] },
  {
    header: 'VERIFIED BY',
    value: ({ verified_by, token_status }) => (token_status === 'unknown' ? 'not verified' : verified_by),
  },
  { header: 'OVERRIDDEN', value: ({ overridden }) => overridden.join('; ') || null },
];

/** A line for each column that has a value, in a pipe as in a terminal. */
function toLines(identity: Identity): readonly ReportLine[] {
  return COLUMNS.flatMap(({ header, value, tone }) => {
    const text = value(identity);
    return text === null
      ? []
      : [{ indent: 0, marker: `${`${header}:`.padEnd(12)}`, text: [{ text: String(text), tone: tone?.(identity) }] }];
  });
}

type TokenResult = Pick<Identity, 'token_status' | 'verified_by'> & { readonly error: PartnerctlError | undefined };

/** Verifies the token with a read. @throws errors that are not about the token, such as of the network */
async function verifyConfiguredToken(context: Context): Promise<TokenResult> {
  try {
    const http = await context.http();
    context.progress.start('Verifying the token');
    const { status, verified_by, error } = await verifyToken(http);
    return { token_status: status, verified_by, error };
  } catch (error) {
    // Nothing was sent: there is no token, or it is for another service.
    if (error instanceof CredentialsError) return { token_status: 'none', verified_by: null, error };
    throw error;
  } finally {
    context.progress.stop();
  }
}

async function describeSettings({ flags, env, config }: Context) {
  const profiles = await config.read();
  const { profile, baseUrl, token, shadowed } = resolveService(flags, env, profiles);
  const stored = Object.hasOwn(profiles.profiles, profile.value) ? profiles.profiles[profile.value] : undefined;
  // As in `confirmWrite`: if both service and token come from elsewhere, no profile is in use.
  const isInUse = stored !== undefined && !namesServiceAndToken(flags, env);
  return {
    profile: isInUse ? profile.value : null,
    profile_from: isInUse ? profile.from : null,
    protected: isInUse && stored.protected === true,
    base_url: baseUrl.value,
    base_url_from: baseUrl.from,
    token_from: token?.from ?? null,
    overridden: shadowed,
  };
}

export default command({
  description:
    'Shows the service, the profile, and where the token comes from (never the token), and verifies the token with one read: the list of spaces, or of scheduled jobs if the token may not list spaces. The API has no call that tells the organization or the user of a token. Exits with 3 if there is no token or the service rejects it, and with 8 if the service cannot be reached.',
  columns: COLUMNS,
  exits: SERVICE_EXITS,
  examples: [
    { line: 'partnerctl whoami', does: 'which service and token the other commands use' },
    { line: 'partnerctl whoami --profile acme -q', does: 'check the token of a profile' },
    { line: 'partnerctl whoami -o json --query base_url', does: 'the address of the service, for a script' },
  ],
  parse: () => undefined,
  async run(context) {
    const settings = await describeSettings(context);
    const { error, ...token } = await verifyConfiguredToken(context);
    const identity: Identity = { ...settings, ...token };
    return listResult([identity], COLUMNS, {
      empty: '',
      document: () => identity,
      report: () => toLines(identity),
      failure: () => error,
    });
  },
});
