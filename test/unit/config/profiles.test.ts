import { expect, it } from 'vitest';
import { configDirectory, ProfileStore, readProfiles } from '../../../src/config/profiles.ts';
import { tempDirectory } from '../../support/run.ts';

it('reads back what was written, whatever the names', async () => {
  const directory = tempDirectory();
  const profile = { base_url: 'https://api.test/v1', token: 'pat_secret' };
  const profiles = Object.fromEntries(['a.b', '__proto__', 'constructor'].map((name) => [name, profile]));
  await new ProfileStore(directory, () => undefined).update(() => ({ current: 'a.b', profiles }));
  const read = await readProfiles(directory);
  expect(read.current).toBe('a.b');
  expect(Object.entries(read.profiles)).toEqual(Object.entries(profiles));
});

it.each([
  [{ PARTNER_CONFIG_DIR: '/own', XDG_CONFIG_HOME: '/xdg' }, 'linux', '/own'],
  [{ XDG_CONFIG_HOME: '/xdg' }, 'linux', '/xdg/partnerctl'],
  [{ XDG_CONFIG_HOME: 'relative' }, 'linux', '/home/me/.config/partnerctl'],
  [{ APPDATA: '/data' }, 'win32', '/data/partnerctl'],
] as const)('the directory of the profiles with %j on %s is %s', (env, platform, expected) => {
  expect(configDirectory(env, platform, '/home/me')).toBe(expected);
});
