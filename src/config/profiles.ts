import { statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { isJsonObject } from '../contract/json.ts';
import { NotFoundError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';
import { damagedFile, readJson, writeJson } from './json-file.ts';

/** A service and its credentials. At most one of `token` and `token_command` is set. */
export interface Profile {
  readonly base_url?: string | undefined;
  readonly token?: string | undefined;
  /** A shell command whose first line of output is the token. */
  readonly token_command?: string | undefined;
  /** Where the state is kept: a path or an address. */
  readonly state?: string | undefined;
  /** Whether each write to the service must be confirmed with the profile's name. */
  readonly protected?: true | undefined;
}

export interface Profiles {
  /** The profile to use if no setting names one. */
  readonly current: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const DEFAULT_PROFILE = 'default';

/**
 * Returns the directory that holds the profiles: PARTNER_CONFIG_DIR, else `$XDG_CONFIG_HOME/partnerctl`, else
 * `~/.config/partnerctl` (`%APPDATA%\partnerctl` on Windows). Pure.
 */
export function configDirectory(env: Environment, platform: NodeJS.Platform, home: string): string {
  if (env.PARTNER_CONFIG_DIR) return env.PARTNER_CONFIG_DIR;
  if (env.XDG_CONFIG_HOME && isAbsolute(env.XDG_CONFIG_HOME)) return join(env.XDG_CONFIG_HOME, 'partnerctl');
  if (platform === 'win32' && env.APPDATA) return join(env.APPDATA, 'partnerctl');
  return join(home, '.config', 'partnerctl');
}

/** Returns the path of the profiles file. */
export function profilesPath(directory: string): string {
  return join(directory, 'config.json');
}

const TEXTS = ['base_url', 'token', 'token_command', 'state'] as const;

/** @throws InputError if it is not what `ProfileStore` writes */
function parseProfile(path: string, name: string, profile: unknown): Profile {
  if (!isJsonObject(profile)) throw damagedFile(path, `The profile ${JSON.stringify(name)} is not an object.`);
  const texts = TEXTS.flatMap((key) => (typeof profile[key] === 'string' ? [[key, profile[key]]] : []));
  // Treat a damaged value as protection.
  const isProtected = profile.protected !== undefined && profile.protected !== false;
  return { ...Object.fromEntries(texts), ...(isProtected && { protected: true }) };
}

/** Reads the profiles; none if there is no file. @throws InputError if it is damaged, LocalError if unreadable */
export async function readProfiles(directory: string): Promise<Profiles> {
  const path = profilesPath(directory);
  const { current, profiles = {} } = readJson(path) ?? {};
  const entries = Object.entries(isJsonObject(profiles) ? profiles : {});
  return {
    current: typeof current === 'string' ? current : DEFAULT_PROFILE,
    profiles: Object.fromEntries(entries.map(([name, profile]) => [name, parseProfile(path, name, profile)])),
  };
}

/** The profiles in a directory, read once. */
export class ProfileStore {
  readonly directory: string;
  private readonly onToken: (token: string) => void;
  private stored: Profiles | undefined;

  /** @param onToken called with each token that is read */
  constructor(directory: string, onToken: (token: string) => void) {
    this.directory = directory;
    this.onToken = onToken;
  }

  /** @throws as `readProfiles` */
  async read(): Promise<Profiles> {
    if (this.stored) return this.stored;
    this.stored = await readProfiles(this.directory);
    for (const { token } of Object.values(this.stored.profiles)) if (token !== undefined) this.onToken(token);
    return this.stored;
  }

  /** Changes the profiles on disk. @throws as `readProfiles` and `writeJson`; what `change` throws */
  async update(change: (profiles: Profiles) => Profiles): Promise<void> {
    const changed = change(await readProfiles(this.directory));
    await writeJson(profilesPath(this.directory), changed);
    this.stored = changed;
  }
}

/** Whether other users can access the profiles file. False on Windows, which has no POSIX file modes. */
export function isReadableByOthers(directory: string, platform: NodeJS.Platform): boolean {
  const file = platform === 'win32' ? undefined : statSync(profilesPath(directory), { throwIfNoEntry: false });
  return file !== undefined && (file.mode & 0o077) !== 0;
}

/** Returns the profiles with one added or replaced. Pure. */
export function withProfile({ current, profiles }: Profiles, name: string, profile: Profile): Profiles {
  return { current, profiles: { ...profiles, [name]: profile } };
}

/** Returns how messages name a profile: `profile "acme"`. */
export function nameProfile(name: string): string {
  return `profile ${JSON.stringify(name)}`;
}

/** What to do if there is no profile of a name. */
export function profileHint({ profiles }: Profiles): string {
  const names = Object.keys(profiles);
  return names.length === 0 ? 'Create one with `partnerctl login`.' : `Use one of: ${names.join(', ')}.`;
}

/** Finds a profile. @throws NotFoundError that lists the existing names */
export function findProfile(stored: Profiles, name: string): Profile {
  const profile = stored.profiles[name];
  if (profile) return profile;
  throw new NotFoundError(`There is no ${nameProfile(name)}.`, { hint: profileHint(stored) });
}

/** Returns where a profile keeps its token, to show in place of the token. */
export function tokenKind({ token, token_command }: Profile): 'stored' | 'command' | 'none' {
  if (token_command !== undefined) return 'command';
  return token === undefined ? 'none' : 'stored';
}
