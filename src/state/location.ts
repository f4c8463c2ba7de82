import { hash } from 'node:crypto';
import { isAbsolute, join } from 'node:path';
import { activeProfile, type SettingsContext } from '../config/settings.ts';
import { UsageError } from '../errors.ts';

/** What names the place of the state. */
export interface LocationContext extends SettingsContext {
  readonly flags: SettingsContext['flags'] & { readonly state?: string | undefined };
  readonly runtime: { readonly platform: NodeJS.Platform; readonly home: string };
}

export interface StateLocation {
  readonly kind: 'file' | 'postgres' | 'git';
  /** The path of the file, or an address without a password. */
  readonly address: string;
  readonly password: string | undefined;
  /** The state file. For another store, a path beside which this machine keeps its own files. */
  readonly path: string;
  readonly from: '--state' | 'PARTNER_STATE' | 'profile' | 'default';
}

function stateDirectory({ env, runtime: { platform, home } }: LocationContext): string {
  const { XDG_STATE_HOME: xdg, LOCALAPPDATA: local } = env;
  if (xdg && isAbsolute(xdg)) return join(xdg, 'partnerctl');
  if (platform === 'win32' && local) return join(local, 'partnerctl');
  if (isAbsolute(home)) return join(home, '.local', 'state', 'partnerctl');
  throw new UsageError('There is no home directory for the state file.', { hint: 'Name the file with --state.' });
}

const EXAMPLES = 'For example: postgres://user@host/database, or git+ssh://git@host/path.git#branch (or git+https://).';

/** Mistyped addresses and connection strings: as the name of a file, a password in them would be shown. */
const NO_PATH =
  /:\/\/|^\/{0,2}[^/\\\s]*:[^/\\\s]*@|^[^/\s:]+@[^/\s:]+:|^(postgres(ql)?|git\+\w+):|^\s*\w+\s*=.*\s\w+\s*=|\bpassword\s*=/i;

/** @returns undefined if it is the path of a file */
function storeKind(address: string, from: StateLocation['from']): 'postgres' | 'git' | undefined {
  if (!NO_PATH.test(address)) return undefined;
  if (/^postgres(ql)?:\/\//i.test(address)) return 'postgres';
  if (/^git\+(ssh|https?|file):\/\//i.test(address)) return 'git';
  throw new UsageError(`The state (${from}) is neither a path nor the address of a database or a repository.`, {
    hint: `${EXAMPLES} Remove blanks and quotes around it.`,
  });
}

/** @returns undefined if it is not valid. A password with a slash, a question mark, or a number sign moves the @ */
function readUrl(address: string, kind: 'postgres' | 'git'): URL | undefined {
  try {
    decodeURIComponent(address);
    const url = new URL(address);
    return kind === 'postgres' && `${url.pathname}${url.search}${url.hash}`.includes('@') ? undefined : url;
  } catch {
    return undefined;
  }
}

/** Messages do not repeat the address, which may have a password. */
function parseAddress(address: string, kind: 'postgres' | 'git', from: StateLocation['from']): URL {
  const url = readUrl(address, kind);
  if (!url) {
    throw new UsageError(`The address of the state (${from}) is not a valid URL.`, {
      hint: `Write @ as %40, / as %2F, ? as %3F, # as %23, and % as %25, also in a password. ${EXAMPLES}`,
    });
  }
  const { protocol, username, password } = url;
  if (url.searchParams.has('password')) {
    throw new UsageError(`The address of the state (${from}) has a password in its query, which messages would show.`, {
      hint: 'Use PGPASSWORD, or postgres://user:password@host/database in PARTNER_STATE.',
    });
  }
  // Git hosts take tokens as the user name.
  if (kind === 'git' && (password !== '' || (protocol !== 'git+ssh:' && username !== ''))) {
    throw new UsageError('The address of a git state must not hold a password, or a user, except for git+ssh://.', {
      hint: 'git keeps them in its credential helper: git help credentials',
    });
  }
  if (from === '--state' && password !== '') {
    // Flags are visible in the process list and in the shell history.
    throw new UsageError('--state must not hold a password: other users of this machine can read it.', {
      hint: 'Leave it out, and use PGPASSWORD or PARTNER_STATE.',
    });
  }
  return url;
}

/**
 * Returns where the state is: the flag, else `PARTNER_STATE`, else the profile's `state`, else `partnerctl/state.jsonl`
 * in the platform's state directory. An empty variable counts as unset, and so does a relative XDG_STATE_HOME.
 * @param flag instead of --state
 * @throws UsageError if the flag is empty, the address is of no known kind, or the user has no home directory
 */
export function stateLocation(context: LocationContext, flag = context.flags.state): StateLocation {
  const { env } = context;
  if (flag === '') throw new UsageError('--state needs a file name.', { hint: 'Is the shell variable in it unset?' });
  const settings = [
    ['--state', flag],
    ['PARTNER_STATE', env.PARTNER_STATE],
    ['profile', flag || env.PARTNER_STATE ? undefined : activeProfile(context).stored?.state],
  ] as const;
  const [from, set] = settings.find(([, value]) => value) ?? (['default', undefined] as const);
  const address = set ?? join(stateDirectory(context), 'state.jsonl');
  const kind = storeKind(address, from);
  if (!kind) return { kind: 'file', address, password: undefined, path: address, from };
  const url = parseAddress(address, kind, from);
  const password = decodeURIComponent(url.password) || undefined;
  url.password = '';
  const shown = url.href;
  const name = `state-${hash('sha256', shown, 'hex').slice(0, 16)}.jsonl`;
  return { kind, address: shown, password, path: join(stateDirectory(context), name), from };
}
