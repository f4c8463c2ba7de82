import { isAbsolute, join } from 'node:path';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { NotFoundError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';
import { damagedFile, JsonDirectory, type OldFile } from './json-directory.ts';

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

/** The profile whose name applies if nothing names one. */
export const DEFAULT_PROFILE = 'default';

/** What reads profiles. */
export type Profiles = Pick<ProfileStore, 'current' | 'names' | 'find'>;

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

/** Not the entry of any profile. */
const CURRENT = '.current';

/**
 * Returns the entry of a profile: its name, with all but a-z, 0-9, `_`, and `-` as `%2e`, because no path may come from
 * a name, and disks may not tell `Acme` from `acme`.
 */
function entryOf(name: string): string {
  const bytes = Buffer.from(name).toString('latin1');
  return bytes.replace(/[^a-z0-9_-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** The profile of an entry; none for what somebody else put there. */
function nameOf(entry: string): readonly string[] {
  const bytes = entry.replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const name = Buffer.from(bytes, 'latin1').toString();
  return entryOf(name) === entry ? [name] : [];
}

/** The one file of all profiles that earlier versions wrote. */
function oldFile(path: string): OldFile {
  return {
    path,
    split({ current, profiles }) {
      const entries = Object.entries(isJsonObject(profiles) ? profiles : {}).map(([name, profile]) => {
        if (isJsonObject(profile)) return [entryOf(name), profile] as const;
        throw damagedFile(path, `The profile ${JSON.stringify(name)} is not an object.`);
      });
      return new Map([[CURRENT, typeof current === 'string' ? { current } : {}], ...entries]);
    },
  };
}

const TEXTS = ['base_url', 'token', 'token_command', 'state'] as const;

function parseProfile(content: JsonObject): Profile {
  const texts = TEXTS.flatMap((key) => (typeof content[key] === 'string' ? [[key, content[key]]] : []));
  // Treat a damaged value as protection.
  const isProtected = content.protected !== undefined && content.protected !== false;
  return { ...Object.fromEntries(texts), ...(isProtected && { protected: true }) };
}

/**
 * The profiles in a directory, a file for each. What was read once stays as it was for this command. Each function throws
 * as `JsonDirectory.read`.
 */
export class ProfileStore {
  readonly directory: string;
  private readonly entries: JsonDirectory;
  private readonly onToken: (token: string) => void;
  private readonly known = new Map<string, Profile | undefined>();
  private chosen: string | undefined;

  /** @param onToken called with each token that is read */
  constructor(directory: string, onToken: (token: string) => void) {
    this.directory = directory;
    this.entries = new JsonDirectory(join(directory, 'profiles'), oldFile(join(directory, 'config.json')));
    this.onToken = onToken;
  }

  /** The name of the profile to use if no setting names one. */
  current(): string {
    if (this.chosen !== undefined) return this.chosen;
    const { current } = this.entries.read(CURRENT) ?? {};
    this.chosen = typeof current === 'string' ? current : DEFAULT_PROFILE;
    return this.chosen;
  }

  /** The names of all, sorted. */
  names(): readonly string[] {
    return this.entries.names().flatMap(nameOf).toSorted();
  }

  /** Reads a profile, if there is one of this name. */
  find(name: string): Profile | undefined {
    if (this.known.has(name)) return this.known.get(name);
    const content = this.entries.read(entryOf(name));
    const profile = content && parseProfile(content);
    if (profile?.token !== undefined) this.onToken(profile.token);
    this.known.set(name, profile);
    return profile;
  }

  /** Stores a profile beside what a newer version keeps in it. @throws as `JsonDirectory.change`; what `change` throws */
  async store(name: string, change: (latest: Profile | undefined) => Profile): Promise<void> {
    await this.entries.change(entryOf(name), (content) => {
      const { base_url, token, token_command, state, protected: _, ...others } = content ?? {};
      return { ...others, ...change(content && parseProfile(content)) };
    });
    this.known.delete(name);
  }

  /** Changes a profile. @throws NotFoundError if there is none; as `store` */
  async update(name: string, change: (latest: Profile) => Profile): Promise<void> {
    await this.store(name, (latest) => change(latest ?? findProfile(this, name)));
  }

  /** Makes a profile the current one. @throws as `JsonDirectory.change` */
  async use(name: string): Promise<void> {
    await this.entries.change(CURRENT, (content) => ({ ...content, current: name }));
    this.chosen = name;
  }

  /** Removes a profile. If it is the current one, that is the default again. @throws as `store` */
  async remove(name: string): Promise<void> {
    await this.entries.change(entryOf(name), () => undefined);
    this.known.delete(name);
    if (this.current() === name) await this.use(DEFAULT_PROFILE);
  }

  /** The path of what holds a profile. */
  pathOf(name: string): string {
    return this.entries.pathOf(entryOf(name));
  }
}

/** Returns how messages name a profile: `profile "acme"`. */
export function nameProfile(name: string): string {
  return `profile ${JSON.stringify(name)}`;
}

/** Finds a profile. @param from the setting that names it @throws NotFoundError that lists the existing names */
export function findProfile(profiles: Profiles, name: string, from?: string): Profile {
  const profile = profiles.find(name);
  if (profile) return profile;
  const names = profiles.names();
  throw new NotFoundError(`There is no ${nameProfile(name)}${from === undefined ? '' : ` (from ${from})`}.`, {
    hint: names.length === 0 ? 'Create one with `partnerctl login`.' : `Use one of: ${names.join(', ')}.`,
  });
}

/** Returns where a profile keeps its token, to show in place of the token. */
export function tokenKind({ token, token_command }: Profile): 'stored' | 'command' | 'none' {
  if (token_command !== undefined) return 'command';
  return token === undefined ? 'none' : 'stored';
}
