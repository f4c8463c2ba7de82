import { statSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject } from '../contract/json.ts';
import { describeFileError, InputError, LocalError, NotFoundError } from '../errors.ts';
import { errorCode } from '../platform/error-code.ts';
import { readRegularFile } from '../platform/files.ts';
import { writeJson } from './write-json.ts';

/** A service and its credentials. At most one of `token` and `token_command` is set. */
export interface Profile {
  readonly base_url?: string;
  readonly token?: string;
  /** Set by earlier versions, whose token is in the operating system's keychain. It is refused. */
  readonly keychain_account?: string;
  /** A shell command whose first line of output is the token. */
  readonly token_command?: string;
  /** Where the state is kept: a path or an address. */
  readonly state?: string;
  /** A shell command whose first line of output is the password of the state's database. */
  readonly state_password_command?: string;
  /** Whether each write to the service must be confirmed with the profile's name. */
  readonly protected?: boolean;
}

export interface Profiles {
  /** The profile to use if no setting names one. */
  readonly current: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const DEFAULT_PROFILE = 'default';

export const NO_PROFILES: Profiles = { current: DEFAULT_PROFILE, profiles: {} };

/** Returns the path of the profiles file. */
export function profilesPath(directory: string): string {
  return join(directory, 'config.json');
}

function parseProfile(value: unknown): Profile | undefined {
  if (!isJsonObject(value)) return undefined;
  const keys = ['base_url', 'token', 'keychain_account', 'token_command', 'state', 'state_password_command'] as const;
  const texts = Object.fromEntries(keys.flatMap((key) => (typeof value[key] === 'string' ? [[key, value[key]]] : [])));
  // Treat a damaged value as protection.
  return { ...texts, ...(value.protected !== undefined && value.protected !== false && { protected: true }) };
}

function parseProfiles(text: string): Profiles | undefined {
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(stored)) return undefined;
  const profiles: [string, Profile][] = [];
  for (const [name, value] of isJsonObject(stored.profiles) ? Object.entries(stored.profiles) : []) {
    const profile = parseProfile(value);
    if (!profile) return undefined;
    profiles.push([name, profile]);
  }
  const current = typeof stored.current === 'string' ? stored.current : DEFAULT_PROFILE;
  return { current, profiles: Object.fromEntries(profiles) };
}

/**
 * Reads the profiles in a directory.
 * @returns `NO_PROFILES` if the file does not exist
 * @throws InputError if the file is damaged, LocalError if it cannot be read
 */
export async function readProfiles(directory: string): Promise<Profiles> {
  const path = profilesPath(directory);
  let text: string;
  try {
    text = readRegularFile(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return NO_PROFILES;
    throw new LocalError(`The profiles in ${path} cannot be read.`, { why: describeFileError(error), cause: error });
  }
  const profiles = parseProfiles(text);
  if (profiles) return profiles;
  throw new InputError(`The profiles in ${path} are damaged.`, {
    hint: 'Repair the file, or move it away and run `partnerctl login` again.',
  });
}

/** Changes the profiles. Pure. */
export type ProfilesChange = (profiles: Profiles) => Profiles;

/**
 * Changes the profiles in a directory.
 * @returns the new profiles
 * @throws as `readProfiles` and `writeJson`; what `change` throws
 */
export async function updateProfiles(directory: string, change: ProfilesChange): Promise<Profiles> {
  const changed = change(await readProfiles(directory));
  await writeJson(profilesPath(directory), `The profiles in ${directory}`, changed);
  return changed;
}

/** Whether other users can access the profiles file. False on Windows, which has no POSIX file modes. */
export function isReadableByOthers(directory: string, platform: NodeJS.Platform): boolean {
  if (platform === 'win32') return false;
  try {
    return (statSync(profilesPath(directory)).mode & 0o077) !== 0;
  } catch {
    return false;
  }
}

/** Returns the profiles with one added, replaced, or (if `profile` is undefined) removed. Pure. */
export function withProfile(profiles: Profiles, name: string, profile: Profile | undefined): Profiles {
  const others = Object.entries(profiles.profiles).filter(([other]) => other !== name);
  const entries = profile === undefined ? others : [...others, [name, profile] as const];
  return { current: profiles.current, profiles: Object.fromEntries(entries) };
}

/** Returns the profiles with one added or replaced, and its protection turned on or off. Pure. */
export function withProtection(profiles: Profiles, name: string, profile: Profile, isProtected: boolean): Profiles {
  const { protected: _, ...rest } = profile;
  return withProfile(profiles, name, isProtected ? { ...rest, protected: true } : rest);
}

/** Finds a profile. @throws NotFoundError that lists the existing names */
export function findProfile(stored: Profiles, name: string): Profile {
  const profile = Object.hasOwn(stored.profiles, name) ? stored.profiles[name] : undefined;
  if (profile) return profile;
  const names = Object.keys(stored.profiles);
  throw new NotFoundError(`There is no profile ${JSON.stringify(name)}.`, {
    hint: names.length === 0 ? 'Create one with `partnerctl login`.' : `Use one of: ${names.join(', ')}.`,
  });
}

/** Returns where a profile keeps its token, to show in place of the token. */
export function tokenKind({ token, token_command }: Profile): 'stored' | 'command' | 'none' {
  if (token_command !== undefined) return 'command';
  return token === undefined ? 'none' : 'stored';
}
