import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configDirectory, type Profile, ProfileStore } from '../../../src/config/profiles.ts';
import { tempDirectory } from '../../support/run.ts';

const profileOf = (name: string): Profile => ({ base_url: 'https://api.test/v1', token: `pat_of_${name}` });

/** As another command sees them. */
const open = (directory: string) => new ProfileStore(directory, () => undefined);

describe('a profile', () => {
  it('may have any name, each a file that stays in the directory, whatever the case', async () => {
    const directory = tempDirectory();
    const names = ['.current', '..', '../x', '__proto__', 'a.b', 'Acme', 'acme', 'constructor', 'toString', 'é %2e/\n'];
    for (const name of names) expect(open(directory).find(name)).toBeUndefined();
    for (const name of names) await open(directory).store(name, () => profileOf(name));
    expect(open(directory).names()).toEqual(names.toSorted());
    for (const name of names) expect(open(directory).find(name)).toEqual(profileOf(name));
    const files = readdirSync(join(directory, 'profiles'));
    expect(new Set(files.map((file) => file.toLowerCase()))).toHaveLength(names.length);
    expect(readdirSync(directory)).toEqual(['profiles']);
  });

  it('keeps what a newer version stores, and is not any file that lies beside it', async () => {
    const directory = tempDirectory();
    await open(directory).store('acme', () => profileOf('acme'));
    const path = join(directory, 'profiles', 'acme.json');
    writeFileSync(path, JSON.stringify({ ...profileOf('acme'), region: { name: 'eu' }, state: 's.jsonl' }));
    for (const file of ['Globex.json', 'acme.json~', '%zz.json', 'acme.json.tmp-0123456789abcdef'])
      writeFileSync(join(directory, 'profiles', file), '{}');
    await open(directory).update('acme', ({ token, ...others }) => others);
    const content = { base_url: 'https://api.test/v1', region: { name: 'eu' }, state: 's.jsonl' };
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(content);
    expect(open(directory).names()).toEqual(['acme']);
  });

  it('stays for a command as it read it first', async () => {
    const directory = tempDirectory();
    await open(directory).store('acme', () => profileOf('acme'));
    const store = open(directory);
    expect([store.current(), store.find('acme')?.protected]).toEqual(['default', undefined]);
    await open(directory).update('acme', (latest) => ({ ...latest, protected: true }));
    await open(directory).use('acme');
    expect([store.current(), store.find('acme')?.protected]).toEqual(['default', undefined]);
    expect([open(directory).current(), open(directory).find('acme')?.protected]).toEqual(['acme', true]);
  });
});

it.each([
  [{ PARTNER_CONFIG_DIR: '/own', XDG_CONFIG_HOME: '/xdg' }, 'linux', '/own'],
  [{ XDG_CONFIG_HOME: '/xdg' }, 'linux', '/xdg/partnerctl'],
  [{ XDG_CONFIG_HOME: 'relative' }, 'linux', '/home/me/.config/partnerctl'],
  [{ APPDATA: '/data' }, 'win32', '/data/partnerctl'],
] as const)('the directory of the profiles with %j on %s is %s', (env, platform, expected) => {
  expect(configDirectory(env, platform, '/home/me')).toBe(expected);
});
