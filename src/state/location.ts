import { hash } from 'node:crypto';
import { isAbsolute, join } from 'node:path';
import { UsageError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';

export interface LocationSources {
  /** The value of `--state`, if set. */
  readonly flag: string | undefined;
  readonly env: Environment;
  /** The `state` of the profile, if set. */
  readonly profile?: string | undefined;
  readonly platform: NodeJS.Platform;
  /** The user's home directory. */
  readonly home: string;
}

export interface StateLocation {
  readonly kind: 'file' | 'postgres' | 'git';
  /** The path of the file, or an address without a password. */
  readonly address: string;
  /** The password in the address, if it has one. */
  readonly password: string | undefined;
  /** The state file. For another store, a path beside which this machine keeps its own files. */
  readonly path: string;
  /** The setting that the address comes from. */
  readonly from: '--state' | 'PARTNER_STATE' | 'profile' | 'XDG_STATE_HOME' | 'LOCALAPPDATA' | 'default';
}

/** Returns the directory for local state, and the setting that it comes from. */
function stateDirectory({ env, platform, home }: LocationSources): Pick<StateLocation, 'path' | 'from'> {
  const xdg = env.XDG_STATE_HOME;
  if (xdg && isAbsolute(xdg)) return { path: join(xdg, 'partnerctl'), from: 'XDG_STATE_HOME' };
  if (platform === 'win32' && env.LOCALAPPDATA) {
    return { path: join(env.LOCALAPPDATA, 'partnerctl'), from: 'LOCALAPPDATA' };
  }
  if (!isAbsolute(home)) {
    throw new UsageError('There is no home directory for the state file.', { hint: 'Name the file with --state.' });
  }
  return { path: join(home, '.local', 'state', 'partnerctl'), from: 'default' };
}

const EXAMPLES = 'For example: postgres://user@host/database, or git+ssh://git@host/path.git#branch (or git+https://).';

/** Mistyped addresses and connection strings: as the name of a file, a password in them would be shown. */
const MISTYPED =
  /:\/\/|^\/{0,2}[^/\\\s]*:[^/\\\s]*@|^[^/\s:]+@[^/\s:]+:|^(postgres(ql)?|git\+\w+):|^\s*\w+\s*=.*\s\w+\s*=|\bpassword\s*=/i;

function storeKind(address: string): StateLocation['kind'] {
  if (!MISTYPED.test(address)) return 'file';
  if (/^postgres(ql)?:\/\//i.test(address)) return 'postgres';
  if (/^git\+(ssh|https?|file):\/\//i.test(address)) return 'git';
  throw new UsageError(
    'The address of the state is neither the name of a file nor that of a database or a repository.',
    {
      hint: `Remove blanks and quotes around it. ${EXAMPLES} The password of a database can be in PGPASSWORD.`,
    },
  );
}

/** Messages do not repeat the address, which may have a password. */
function parseAddress(address: string, from: StateLocation['from']): URL {
  const isGit = storeKind(address) === 'git';
  const url = URL.canParse(address) && !/%(?![0-9a-f]{2})/i.test(address) ? new URL(address) : undefined;
  // A password with a slash, a question mark, or a number sign ends the part before the @ early.
  if (!url || (!isGit && `${url.pathname}${url.search}${url.hash}`.includes('@'))) {
    throw new UsageError(`The address of the state (${from}) is not a valid URL.`, {
      hint: `Write @ as %40, / as %2F, ? as %3F, # as %23, and % as %25, also in a password. ${EXAMPLES}`,
    });
  }
  const { protocol, username, password } = url;
  // Git hosts take tokens as the user name.
  if (isGit && (password !== '' || (protocol !== 'git+ssh:' && username !== ''))) {
    throw new UsageError(
      'The address of the state must not hold a password for git, or a user, except for git+ssh://.',
      {
        hint: 'git keeps them in its credential helper: git help credentials',
      },
    );
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
 * @throws UsageError if the flag is empty, the address is of no known kind, or the user has no home directory
 */
export function stateLocation(sources: LocationSources): StateLocation {
  const { flag, env, profile } = sources;
  if (flag === '') throw new UsageError('--state needs a file name.', { hint: 'Is the shell variable in it unset?' });
  const settings = [
    ['--state', flag],
    ['PARTNER_STATE', env.PARTNER_STATE],
    ['profile', profile],
  ] as const;
  const [from, address] = settings.find(([, value]) => value) ?? [];
  if (from === undefined || !address) {
    const directory = stateDirectory(sources);
    const path = join(directory.path, 'state.jsonl');
    return { kind: 'file', address: path, password: undefined, path, from: directory.from };
  }
  const kind = storeKind(address);
  if (kind === 'file') return { kind, address, password: undefined, path: address, from };
  const url = parseAddress(address, from);
  const password = url.password === '' ? undefined : decodeURIComponent(url.password);
  url.password = '';
  const shown = url.href;
  const name = `state-${hash('sha256', shown, 'hex').slice(0, 16)}.jsonl`;
  return { kind, address: shown, password, path: join(stateDirectory(sources).path, name), from };
}
