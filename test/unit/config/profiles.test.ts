import { lstatSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  configDirectory,
  type Profiles,
  profilesPath,
  readProfiles,
  updateProfiles,
} from '../../../src/config/profiles.ts';
import { propertyRuns } from '../../support/properties.ts';
import { tempDirectory } from '../../support/run.ts';

const STORED: Profiles = {
  current: 'acme',
  profiles: { acme: { base_url: 'https://api.test/v1', token: 'pat_secret' } },
};

it('property: reads back what was written, whatever the names', async () => {
  const directory = tempDirectory();
  const name = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('a.b', '__proto__', 'constructor'));
  const profile = fc.record({ base_url: fc.string(), token: fc.string() }, { requiredKeys: [], noNullPrototype: true });
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

it('changes the file that a symbolic link points to', async () => {
  const [directory, target] = [tempDirectory(), join(tempDirectory(), 'dotfiles.json')];
  writeFileSync(target, '{}');
  symlinkSync(target, profilesPath(directory));
  await updateProfiles(directory, () => STORED);
  expect(lstatSync(profilesPath(directory)).isSymbolicLink()).toBe(true);
  expect(JSON.parse(readFileSync(target, 'utf8'))).toEqual(STORED);
});

it.each([
  [{ PARTNER_CONFIG_DIR: '/own', XDG_CONFIG_HOME: '/xdg' }, 'linux', '/own'],
  [{ XDG_CONFIG_HOME: '/xdg' }, 'linux', '/xdg/partnerctl'],
  [{ XDG_CONFIG_HOME: 'relative' }, 'linux', '/home/me/.config/partnerctl'],
  [{ APPDATA: '/data' }, 'win32', '/data/partnerctl'],
] as const)('the directory of the profiles with %j on %s is %s', (env, platform, expected) => {
  expect(configDirectory(env, platform, '/home/me')).toBe(expected);
});
