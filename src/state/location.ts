import { posix, win32 } from 'node:path';
import { UsageError } from '../errors.ts';

export interface LocationSources {
  /** The value of `--state`, when given. */
  readonly flag: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** The user's home directory. */
  readonly home: string;
}

export interface StateLocation {
  readonly path: string;
  /** What decided it: a flag, an environment variable, or `default`. */
  readonly from: '--state' | 'PARTNER_STATE' | 'XDG_STATE_HOME' | 'LOCALAPPDATA' | 'default';
}

/**
 * Where the state file is: the flag, else `PARTNER_STATE`, else `partnerctl/state.jsonl` under the platform's place
 * for state. An empty environment variable counts as absent, and a relative XDG_STATE_HOME is ignored, as its
 * specification says.
 * @throws UsageError when the flag is empty, or nothing names a place and the user has no home directory.
 */
export function stateLocation({ flag, env, platform, home }: LocationSources): StateLocation {
  if (flag === '') throw new UsageError('--state needs a file name.', { hint: 'Is a shell variable in it unset?' });
  if (flag !== undefined) return { path: flag, from: '--state' };
  if (env.PARTNER_STATE) return { path: env.PARTNER_STATE, from: 'PARTNER_STATE' };

  const { isAbsolute, join } = platform === 'win32' ? win32 : posix;
  const inDirectory = (directory: string) => join(directory, 'partnerctl', 'state.jsonl');
  const xdg = env.XDG_STATE_HOME;
  if (xdg && isAbsolute(xdg)) return { path: inDirectory(xdg), from: 'XDG_STATE_HOME' };
  if (platform === 'win32' && env.LOCALAPPDATA) return { path: inDirectory(env.LOCALAPPDATA), from: 'LOCALAPPDATA' };
  if (!isAbsolute(home)) {
    throw new UsageError('There is no home directory to keep the state file in.', {
      hint: 'Name the file with --state or PARTNER_STATE.',
    });
  }
  const inHome = platform === 'win32' ? join(home, 'AppData', 'Local') : join(home, '.local', 'state');
  return { path: inDirectory(inHome), from: 'default' };
}
