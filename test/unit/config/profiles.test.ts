import { chmodSync, lstatSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { configDirectory } from '../../../src/config/config-directory.ts';
import {
  isReadableByOthers,
  NO_PROFILES,
  type Profiles,
  type ProfilesChange,
  profilesPath,
  readProfiles,
  updateProfiles,
  withProfile,
} from '../../../src/config/profiles.ts';
import { propertyRuns } from '../../support/properties.ts';
import { tempDirectory } from '../../support/run.ts';

const ACME = { base_url: 'https://api.test/v1', token: 'pat_secret' };
const STORED: Profiles = { current: 'acme', profiles: { acme: ACME } };

function update(directory: string, change: ProfilesChange): Promise<Profiles> {
  const { signal } = new AbortController();
  return updateProfiles(directory, change, { clock: systemClock, random: Math.random, signal });
}

describe('readProfiles and updateProfiles', () => {
  it('return no profiles without a file', async () => {
    expect(await readProfiles(tempDirectory())).toEqual(NO_PROFILES);
  });

  it('make the file readable only by its owner, even if it was not before', async () => {
    const directory = tempDirectory();
    await update(directory, () => STORED);
    const mode = (): number => statSync(profilesPath(directory)).mode & 0o777;
    expect(mode()).toBe(0o600);
    expect(isReadableByOthers(directory, 'linux')).toBe(false);
    chmodSync(profilesPath(directory), 0o644);
    expect(isReadableByOthers(directory, 'linux')).toBe(true);
    await update(directory, () => STORED);
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
        await update(directory, () => profiles);
        const read = await readProfiles(directory);
        expect(Object.entries(read.profiles)).toEqual(Object.entries(profiles.profiles));
        expect(read.current).toBe(current);
      }),
      { numRuns: propertyRuns(30) },
    );
  });

  it('start over when another process changes the profiles before the rename', async () => {
    const directory = tempDirectory();
    let calls = 0;
    await update(directory, (profiles) => {
      calls += 1;
      if (calls === 1) {
        // What another process does: it removes our temporary file, and replaces the profiles.
        for (const name of readdirSync(directory)) rmSync(join(directory, name));
        writeFileSync(profilesPath(directory), JSON.stringify(STORED));
      }
      return withProfile(profiles, 'globex', ACME);
    });
    expect(calls).toBe(2);
    expect(Object.keys((await readProfiles(directory)).profiles)).toEqual(['acme', 'globex']);
  });

  it('apply every one of many concurrent changes, and leave no temporary file', async () => {
    const directory = tempDirectory();
    const names = Array.from({ length: 12 }, (_, index) => `p${index}`);
    await Promise.all(names.map((name) => update(directory, (profiles) => withProfile(profiles, name, ACME))));
    expect(Object.keys((await readProfiles(directory)).profiles).sort()).toEqual(names.sort());
    expect(readdirSync(directory)).toEqual(['config.json']);
  });

  it('remove the temporary files of processes that were killed', async () => {
    const directory = tempDirectory();
    for (const suffix of ['1766400000abcdef', 'c9f8b64e-0000-4000-8000-000000000000']) {
      writeFileSync(join(directory, `config.json.tmp-${suffix}`), 'pat_secret');
    }
    await update(directory, () => NO_PROFILES);
    expect(readdirSync(directory)).toEqual(['config.json']);
  });

  it('change the file that a symbolic link points to', async () => {
    const [directory, target] = [tempDirectory(), join(tempDirectory(), 'dotfiles.json')];
    writeFileSync(target, '{}');
    symlinkSync(target, profilesPath(directory));
    await update(directory, () => STORED);
    expect(lstatSync(profilesPath(directory)).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(target, 'utf8'))).toEqual(STORED);
  });

  it('write nothing if the change throws', async () => {
    const directory = tempDirectory();
    const change = (): never => {
      throw new Error('no such profile');
    };
    await expect(update(directory, change)).rejects.toThrow('no such profile');
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
