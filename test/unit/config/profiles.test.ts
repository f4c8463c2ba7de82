import { chmodSync, statSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  configDirectory,
  isReadableByOthers,
  profilesPath,
  readProfiles,
  writeProfiles,
} from '../../../src/config/profiles.ts';
import { tempDirectory } from '../../helpers/run.ts';

const ACME = { base_url: 'https://api.test/v1', token: 'pat_secret' };

describe('readProfiles and writeProfiles', () => {
  it('return no profiles without a file', async () => {
    expect(await readProfiles(tempDirectory())).toEqual({ current: 'default', profiles: {} });
  });

  it('make the file readable for its owner only, even if it was not before', async () => {
    const directory = tempDirectory();
    await writeProfiles(directory, { current: 'acme', profiles: { acme: ACME } });
    const mode = (): number => statSync(profilesPath(directory)).mode & 0o777;
    expect(mode()).toBe(0o600);
    expect(await isReadableByOthers(directory, 'linux')).toBe(false);
    chmodSync(profilesPath(directory), 0o644);
    expect(await isReadableByOthers(directory, 'linux')).toBe(true);
    await writeProfiles(directory, { current: 'acme', profiles: { acme: ACME } });
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
        await writeProfiles(directory, profiles);
        const read = await readProfiles(directory);
        expect(Object.entries(read.profiles)).toEqual(Object.entries(profiles.profiles));
        expect(read.current).toBe(current);
      }),
      { numRuns: 30 },
    );
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
