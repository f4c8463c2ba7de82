import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KeychainUnavailable, systemKeychain } from '../../../src/config/keychain.ts';
import { tempDirectory } from '../../support/run.ts';

const NEVER = new AbortController().signal;

function openKeychain(env: Record<string, string | undefined>, { isInteractive = false, signal = NEVER } = {}) {
  return systemKeychain({ node: process.execPath, env, isInteractive, signal });
}

const hasSecretService =
  spawnSync('gnome-keyring-daemon', ['--version']).status === 0 && spawnSync('dbus-daemon', ['--version']).status === 0;

/**
 * Starts a separate Secret Service, which ends with the test.
 * @param password unlocks it; without one, it cannot store anything
 */
async function startSecretService(password?: string) {
  const home = tempDirectory();
  const base = { PATH: process.env.PATH, HOME: home, XDG_DATA_HOME: home, XDG_RUNTIME_DIR: home };
  const bus = spawn('dbus-daemon', ['--session', '--nofork', '--print-address'], {
    env: base,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void bus.kill());
  const [address] = await once(bus.stdout, 'data');
  const env = { ...base, DBUS_SESSION_BUS_ADDRESS: String(address).trim() };
  const args = ['--components=secrets', password === undefined ? '--start' : '--unlock'];
  const daemon = spawn('gnome-keyring-daemon', args, { env, stdio: ['pipe', 'ignore', 'ignore'] });
  daemon.stdin.on('error', () => undefined).end(password);
  await once(daemon, 'exit');
  return env;
}

describe('the keychain of the operating system', () => {
  it.skipIf(process.platform !== 'linux')('is unavailable on a machine without a Secret Service', async () => {
    for (const DBUS_SESSION_BUS_ADDRESS of [undefined, 'unix:path=/nonexistent']) {
      const keychain = openKeychain({ DBUS_SESSION_BUS_ADDRESS }, { isInteractive: true });
      const failure = await keychain.set('test', 'pat_secret').catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(KeychainUnavailable);
      expect(String(failure)).not.toContain('pat_secret');
    }
  });

  it('stops waiting with the reason of the signal', async () => {
    const keychain = openKeychain({}, { signal: AbortSignal.abort(new Error('Enough.')) });
    await expect(keychain.get('test')).rejects.toThrow('Enough.');
  });

  it.skipIf(!hasSecretService)('keeps, replaces, and removes tokens (needs gnome-keyring and dbus)', async () => {
    const keychain = openKeychain(await startSecretService('password'));
    expect(await keychain.get('a')).toBe(undefined);
    await keychain.set('a', 'pat_one');
    await keychain.set('b', 'pat_two');
    await keychain.set('a', 'pat_three');
    expect([await keychain.get('a'), await keychain.get('b')]).toEqual(['pat_three', 'pat_two']);
    await keychain.remove('a');
    await keychain.remove('a');
    expect([await keychain.get('a'), await keychain.get('b')]).toEqual([undefined, 'pat_two']);
  });

  it.skipIf(!hasSecretService)('is unavailable if it cannot store tokens (needs gnome-keyring and dbus)', async () => {
    const keychain = openKeychain(await startSecretService());
    await expect(keychain.set('a', 'pat_one')).rejects.toThrow(KeychainUnavailable);
  });
});
