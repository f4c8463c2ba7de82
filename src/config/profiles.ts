import { chmod, mkdir, readFile, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Environment } from '../cli/io.ts';
import { InputError, LocalError, NotFoundError } from '../errors.ts';

/** One service and how to reach it. At most one of `token` and `token_command` is set. */
export interface Profile {
  readonly base_url?: string;
  readonly token?: string;
  /** A shell command whose first line of output is the token. */
  readonly token_command?: string;
}

export interface Profiles {
  /** The profile that counts where none is named. */
  readonly current: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const DEFAULT_PROFILE = 'default';

export const NO_PROFILES: Profiles = { current: DEFAULT_PROFILE, profiles: {} };
const NAME = 'config';

export function profilesPath(directory: string): string {
  return join(directory, `${NAME}.json`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toProfile(value: unknown): Profile | undefined {
  if (!isRecord(value)) return undefined;
  const known = ['base_url', 'token', 'token_command'] as const;
  const texts = known.flatMap((key) => (typeof value[key] === 'string' ? [[key, value[key]] as const] : []));
  return Object.fromEntries(texts);
}

function toProfiles(value: unknown, path: string): Profiles {
  const stored = isRecord(value) ? value : undefined;
  const entries = isRecord(stored?.profiles) ? Object.entries(stored.profiles) : [];
  const profiles = entries.map(([name, profile]) => [name, toProfile(profile)] as const);
  if (!stored || profiles.some(([, profile]) => profile === undefined)) {
    throw new InputError(`The profiles in ${path} are damaged.`, {
      hint: 'Mend the file, or move it away and run `partnerctl login` again.',
    });
  }
  return {
    current: typeof stored.current === 'string' ? stored.current : DEFAULT_PROFILE,
    profiles: Object.fromEntries(profiles.flatMap(([name, profile]) => (profile ? [[name, profile]] : []))),
  };
}

/**
 * Reads the profiles. Every call pays for this, so the file is read as it stands, without the library that writes it.
 * @returns no profiles when there is no file
 * @throws InputError when the file is not what `writeProfiles` writes
 */
export async function readProfiles(directory: string): Promise<Profiles> {
  const path = profilesPath(directory);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return NO_PROFILES;
    throw new LocalError(`The profiles in ${path} cannot be read.`, { why: String(error), cause: error });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  return toProfiles(value, path);
}

/** Writes the profiles as a whole: atomically, in a file that only its owner may read. */
export async function writeProfiles(directory: string, profiles: Profiles): Promise<void> {
  const { default: Conf } = await import('conf');
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const conf = new Conf({ cwd: directory, configName: NAME, fileExtension: 'json', configFileMode: 0o600 });
    conf.store = { current: profiles.current, profiles: profiles.profiles };
    await chmod(profilesPath(directory), 0o600);
  } catch (error) {
    throw new LocalError(`The profiles in ${directory} cannot be written.`, { why: String(error), cause: error });
  }
}

/** Whether others on this machine may read the profiles, which hold tokens. Windows has no such modes. */
export async function isReadableByOthers(directory: string, platform: NodeJS.Platform): Promise<boolean> {
  if (platform === 'win32') return false;
  try {
    return ((await stat(profilesPath(directory))).mode & 0o077) !== 0;
  } catch {
    return false;
  }
}

/** The profiles with one of them replaced or, for undefined, removed. Pure. */
export function withProfile(profiles: Profiles, name: string, profile: Profile | undefined): Profiles {
  const others = Object.entries(profiles.profiles).filter(([other]) => other !== name);
  const entries = profile === undefined ? others : [...others, [name, profile] as const];
  return { current: profiles.current, profiles: Object.fromEntries(entries) };
}

/** A profile by name. @throws NotFoundError that names those that there are */
export function findProfile(stored: Profiles, name: string): Profile {
  const profile = Object.hasOwn(stored.profiles, name) ? stored.profiles[name] : undefined;
  if (profile) return profile;
  const names = Object.keys(stored.profiles);
  throw new NotFoundError(`There is no profile ${JSON.stringify(name)}.`, {
    hint: names.length === 0 ? '`partnerctl login` makes one.' : `There are: ${names.join(', ')}.`,
  });
}

/** What a profile holds in place of showing it: a stored token, a command that prints one, or none. */
export function tokenKind({ token, token_command }: Profile): 'stored' | 'command' | 'none' {
  if (token_command !== undefined) return 'command';
  return token === undefined ? 'none' : 'stored';
}

/**
 * The directory of the profiles: PARTNER_CONFIG_DIR, else `$XDG_CONFIG_HOME/partnerctl`, else `~/.config/partnerctl`
 * (`%APPDATA%\partnerctl` on Windows). Pure.
 */
export function configDirectory(env: Environment, platform: NodeJS.Platform, home: string): string {
  if (env.PARTNER_CONFIG_DIR) return env.PARTNER_CONFIG_DIR;
  if (env.XDG_CONFIG_HOME && isAbsolute(env.XDG_CONFIG_HOME)) return join(env.XDG_CONFIG_HOME, 'partnerctl');
  if (platform === 'win32' && env.APPDATA) return join(env.APPDATA, 'partnerctl');
  return join(home, '.config', 'partnerctl');
}
