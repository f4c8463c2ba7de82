import fc from 'fast-check';
import { expect, it } from 'vitest';
import { configDirectory, readProfiles, updateProfiles } from '../../../src/config/profiles.ts';
import { propertyRuns } from '../../support/properties.ts';
import { tempDirectory } from '../../support/run.ts';

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

it.each([
  [{ PARTNER_CONFIG_DIR: '/own', XDG_CONFIG_HOME: '/xdg' }, 'linux', '/own'],
  [{ XDG_CONFIG_HOME: '/xdg' }, 'linux', '/xdg/partnerctl'],
  [{ XDG_CONFIG_HOME: 'relative' }, 'linux', '/home/me/.config/partnerctl'],
  [{ APPDATA: '/data' }, 'win32', '/data/partnerctl'],
] as const)('the directory of the profiles with %j on %s is %s', (env, platform, expected) => {
  expect(configDirectory(env, platform, '/home/me')).toBe(expected);
});
