import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Keychain, KeychainUnavailable } from '../../src/config/keychain.ts';
import { type Ran, type RunOptions, run } from '../support/run.ts';
import { service } from '../support/service.ts';
import { createProfileHome, TOKEN } from './profile-home.ts';

/*
 * Replaces the keychain of the operating system, which tests must not change. These tests cover when it is used;
 * test/unit/config/keychain.test.ts covers the real one.
 */

interface FakeKeychain extends Keychain {
  readonly tokens: Map<string, string>;
  isLocked: boolean;
}

function fakeKeychain(): FakeKeychain {
  const tokens = new Map<string, string>();
  const keychain: FakeKeychain = {
    tokens,
    isLocked: false,
    get: async (account) => unlocked().get(account),
    set: async (account, token) => void unlocked().set(account, token),
    remove: async (account) => void unlocked().delete(account),
  };
  function unlocked(): Map<string, string> {
    if (keychain.isLocked) throw new KeychainUnavailable('It is locked.');
    return tokens;
  }
  return keychain;
}

async function setUp() {
  const { sandbox, token } = await service();
  const home = createProfileHome();
  const keychain = fakeKeychain();
  const act = (line: string, options: RunOptions = {}): Promise<Ran> =>
    run(line.split(' '), { keychain, ...options, env: { ...home.env, ...options.env } });
  const login = (more = '', stdin = token): Promise<Ran> =>
    act(`login --profile acme --base-url ${sandbox.baseUrl} -o json${more}`, { stdin });
  const account = `acme ${sandbox.baseUrl} (${home.env.PARTNER_CONFIG_DIR})`;
  const stored = () => readFileSync(join(home.env.PARTNER_CONFIG_DIR, 'config.json'), 'utf8');
  return { token, keychain, act, login, account, stored };
}

const hintOf = ({ stderr }: Ran): string => /^hint: (.*)$/m.exec(stderr)?.[1] ?? '';
const commandIn = (hint: string): string => /partnerctl (.*?)\.?$/.exec(hint)?.[1] ?? '';

describe('a token in the keychain', () => {
  test('is not in the file, is used by commands, and is reported as the source', async () => {
    const { token, keychain, act, login, account, stored } = await setUp();
    const ran = await login(' --token-storage keychain');
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toMatchObject({ profile: 'acme', token: 'keychain' });
    expect([...keychain.tokens]).toEqual([[account, token]]);
    expect(stored()).not.toContain(token);
    const list = await act('spaces list -o json -v');
    expect(list.code).toBe(0);
    expect(list.stderr).toContain('token from the keychain (profile "acme")');
    expect((await act('profile show -o json')).json()).toMatchObject({ token: 'keychain', keychain_account: account });
    expect((await act('whoami -o json')).json()).toMatchObject({ token_from: 'the keychain (profile "acme")' });
  });

  test('replaces the one in the file at the next login, and stays in the keychain at further ones', async () => {
    const { token, keychain, login, stored } = await setUp();
    expect((await login()).json()).toMatchObject({ token: 'stored' });
    expect(stored()).toContain(token);
    await login(' --token-storage keychain');
    expect(stored()).not.toContain(token);
    expect((await login()).json()).toMatchObject({ token: 'keychain' });
    expect(keychain.tokens.size).toBe(1);
    expect((await login(' --token-storage file')).json()).toMatchObject({ token: 'stored' });
    expect(keychain.tokens.size).toBe(0);
  });

  test.each(['logout --profile acme', 'profile remove acme'])('is removed by %s', async (line) => {
    const { keychain, act, login } = await setUp();
    await login(' --token-storage keychain');
    keychain.isLocked = true;
    const failed = await act(line);
    expect(failed.code).toBe(3);
    expect(failed.stderr).toContain('error: The token of profile "acme" cannot be removed from the keychain.\n');
    expect(keychain.tokens.size).toBe(1);
    keychain.isLocked = false;
    expect((await act(line)).code).toBe(0);
    expect(keychain.tokens.size).toBe(0);
    expect((await act('spaces list --profile acme')).code).not.toBe(0);
  });

  test('exits with 3 if it cannot be read, with a hint that works', async () => {
    const { token, keychain, act, login } = await setUp();
    await login(' --token-storage keychain');
    keychain.isLocked = true;
    const ran = await act('spaces list');
    expect(ran).toMatchObject({ code: 3, stdout: '' });
    expect(ran.stderr).toContain('error: The keychain (profile "acme") cannot be read.\n  It is locked.\n');
    expect((await act('spaces list -o json', { env: { PARTNER_TOKEN: token } })).code).toBe(0);
    const out = await act(commandIn(hintOf(ran)), { stdin: token });
    expect(out.code).toBe(0);
    expect(out.stderr).toContain('warning: The replaced token stays in the keychain');
    expect((await act('spaces list -o json')).code).toBe(0);
  });

  test('has a hint that works if the service rejects it or it no longer exists', async () => {
    const { token, keychain, act, login } = await setUp();
    await login(' --token-storage keychain --no-verify', TOKEN);
    const rejected = await act('spaces list');
    expect(rejected.stderr).toContain(
      'error: The service rejected the token from the keychain (profile "acme") (401).\n',
    );
    keychain.tokens.clear();
    const gone = await act('spaces list');
    expect(gone.code).toBe(3);
    expect(gone.stderr).toContain('error: The keychain (profile "acme") has no token.\n');
    expect(hintOf(gone)).toBe(hintOf(rejected));
    expect((await act(commandIn(hintOf(gone)), { stdin: token })).code).toBe(0);
    expect((await act('spaces list -o json')).code).toBe(0);
    expect([...keychain.tokens.values()]).toEqual([token]);
  });

  test('is rejected if it was requested and there is no keychain, and otherwise goes into the file', async () => {
    const { token, keychain, login, stored } = await setUp();
    keychain.isLocked = true;
    const ran = await login(' --token-storage keychain');
    expect(ran.code).toBe(3);
    expect(ran.error()).toMatchObject({
      message: 'The token cannot be stored in the keychain.',
      hint: expect.stringContaining('partnerctl login --token-storage file --profile acme'),
    });
    expect((await login()).json()).toMatchObject({ token: 'stored' });
    expect(stored()).toContain(token);
  });
});
