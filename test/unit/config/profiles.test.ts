import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { configDirectory } from '../../../src/config/config-directory.ts';
import {
  isReadableByOthers,
  NO_PROFILES,
  type Profiles,
  profilesPath,
  readProfiles,
  updateProfiles,
} from '../../../src/config/profiles.ts';
import { propertyRuns } from '../../support/properties.ts';
import { tempDirectory } from '../../support/run.ts';

const ACME = { base_url: 'https://api.test/v1', token: 'pat_secret' };
const STORED: Profiles = { current: 'acme', profiles: { acme: ACME } };

describe('readProfiles and updateProfiles', () => {
  it('return no profiles without a file', async () => {
    expect(await readProfiles(tempDirectory())).toEqual(NO_PROFILES);
  });

  it('make the file readable only by its owner, even if it was not before', async () => {
    const directory = tempDirectory();
    await updateProfiles(directory, () => STORED);
    const mode = (): number => statSync(profilesPath(directory)).mode & 0o777;
    expect(mode()).toBe(0o600);
    expect(isReadableByOthers(directory, 'linux')).toBe(false);
    chmodSync(profilesPath(directory), 0o644);
    expect(isReadableByOthers(directory, 'linux')).toBe(true);
    await updateProfiles(directory, () => STORED);
    expect(mode()).toBe(0o600);
  });

  it('property: read back what was written, whatever the names', async () => {
    const directory = tempDirectory();
    const name = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.constantFrom('a.b', '__proto__', 'constructor', '__internal__'),
    );
    const profile = fc.record(
      { base_url: fc.string(), token: fc.string() },
      { requiredKeys: [], noNullPrototype: true },
    );
    await fc.assert(
      fc.asyncProperty(name, fc.array(fc.tuple(name, profile), { maxLength: 4 }), async (current, entries) => {
        const profiles = { current, profiles: Object.fromEntries(entries) };
        await updateProfiles(directory, () => profiles);
        const read = await readProfiles(directory);
        expect(Object.entries(read.profiles)).toEqual(Object.entries(profiles.profiles));
        expect(read.current).toBe(current);
      }),
      { numRuns: propertyRuns(30) },
    );
  });

  it('change the file that a symbolic link points to', async () => {
    const [directory, target] = [tempDirectory(), join(tempDirectory(), 'dotfiles.json')];
    writeFileSync(target, '{}');
    symlinkSync(target, profilesPath(directory));
    await updateProfiles(directory, () => STORED);
    expect(lstatSync(profilesPath(directory)).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(target, 'utf8'))).toEqual(STORED);
  });

  it('write nothing if the change throws', async () => {
    const directory = tempDirectory();
    const change = (): never => {
      throw new Error('no such profile');
    };
    await expect(updateProfiles(directory, change)).rejects.toThrow('no such profile');
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('configDirectory', () => {
  it.each([
    [{ PARTNER_CONFIG_DIR: '/own', XDG_CONFIG_HOME: '/xdg' }, 'linux', '/own'],
    [{ XDG_CONFIG_HOME: '/xdg' }, 'linux', '/xdg/partnerctl'],
    [{ XDG_CONFIG_HOME: 'relative' }, 'linux', '/home/me/.config/partnerctl'],
    [{}, 'darwin', '/home/me/.config/partnerctl'],
    [{ APPDATA: '/data' }, 'win32', '/data/partnerctl'],
  ] as const)('%j on %s is %s', (env, platform, expected) => {
    expect(configDirectory(env, platform, '/home/me')).toBe(expected);
  });
});
