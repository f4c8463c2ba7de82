import { describe, expect, it } from 'vitest';
import { type Keychain, KeychainUnavailable } from '../../../src/config/keychain.ts';
import { storeToken } from '../../../src/config/token-storage.ts';

const NEW = { profileName: 'acme', baseUrl: 'https://api.example.com/v1', token: 'pat_1', chosen: undefined };

/** Stores a token where a keychain works or not. @returns what the profile stores, and the notices */
async function store(isInteractive: boolean, works: boolean) {
  const said: string[] = [];
  const accounts: string[] = [];
  const keychain: Keychain = {
    get: async () => undefined,
    async set(account) {
      if (!works) throw new KeychainUnavailable('There is none.');
      accounts.push(account);
    },
    remove: async () => undefined,
  };
  const say = async (text: string) => void said.push(text);
  const config = { directory: '/home/anna/.config/partnerctl' };
  const deps = { config, isInteractive, openKeychain: async () => keychain, notice: say, warn: say };
  return { kept: await storeToken(deps, { ...NEW, stored: undefined }), said, accounts };
}

describe('a new token', () => {
  it('goes to the keychain in a terminal, under a unique name per service and directory', async () => {
    const account = 'acme https://api.example.com/v1 (/home/anna/.config/partnerctl)';
    expect(await store(true, true)).toEqual({ kept: { keychain_account: account }, said: [], accounts: [account] });
  });

  it('goes to the file if there is no keychain, with a note that says so', async () => {
    const { kept, said } = await store(true, false);
    expect(kept).toEqual({ token: 'pat_1' });
    expect(said).toEqual([
      'note: the token is kept in /home/anna/.config/partnerctl/config.json. The keychain cannot be used. There is none.',
    ]);
  });

  it('goes to the file in a script, because nobody can unlock a keychain there', async () => {
    expect(await store(false, true)).toEqual({ kept: { token: 'pat_1' }, said: [], accounts: [] });
  });
});
