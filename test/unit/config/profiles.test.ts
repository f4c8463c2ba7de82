import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configDirectory, type Profile, ProfileStore } from '../../../src/config/profiles.ts';
import { propertyRuns } from '../../support/properties.ts';
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

describe('the one file of an earlier version', () => {
  const names = ['a', 'b', 'C', 'constructor'];

  function writeOld(directory: string): void {
    const profiles = Object.fromEntries(names.map((name) => [name, { ...profileOf(name), region: 'eu' }]));
    writeFileSync(join(directory, 'config.json'), JSON.stringify({ current: 'b', profiles }));
  }

  it('is read as it is until it is taken over once, by commands that change profiles at once: nothing is lost, and nothing comes back', async () => {
    for (let round = 0; round < propertyRuns(500, 5); round += 1) {
      const directory = tempDirectory();
      writeOld(directory);
      const before = open(directory);
      expect([before.current(), before.names()]).toEqual(['b', names.toSorted()]);
      expect([before.find('a')?.token, before.pathOf('a')]).toEqual(['pat_of_a', join(directory, 'config.json')]);
      expect(readdirSync(directory)).toEqual(['config.json']);
      const changes = [
        open(directory).remove('a'),
        open(directory).update('b', ({ token, ...others }) => others),
        open(directory).store('d', () => profileOf('d')),
        open(directory).use('d'),
        open(directory).update('C', (latest) => ({ ...latest, protected: true })),
      ];
      await Promise.all(changes);
      const store = open(directory);
      expect(store.names()).toEqual(['C', 'b', 'constructor', 'd']);
      expect([store.current(), store.find('b')?.token]).toEqual(['d', undefined]);
      expect(store.find('C')).toEqual({ ...profileOf('C'), protected: true });
      expect(readdirSync(directory)).toEqual(['profiles']);
      const constructed = readFileSync(join(directory, 'profiles', 'constructor.json'), 'utf8');
      expect(JSON.parse(constructed)).toEqual({ ...profileOf('constructor'), region: 'eu' });
    }
  });

  it('is removed where a command was killed before that', async () => {
    const directory = tempDirectory();
    writeOld(directory);
    await open(directory).remove('a');
    writeOld(directory);
    expect(open(directory).names()).toEqual(['C', 'b', 'constructor']);
    await open(directory).remove('b');
    expect(readdirSync(directory)).toEqual(['profiles']);
    expect(open(directory).names()).toEqual(['C', 'constructor']);
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
