import { resolve } from 'node:path';
import { shellCommand } from '../cli/shell-command.ts';
import { CredentialsError } from '../errors.ts';
import { type Keychain, KeychainUnavailable } from './keychain.ts';
import { type Profile, profilesPath } from './profiles.ts';
import { nameProfile } from './token-sources.ts';

export const TOKEN_STORAGES = ['keychain', 'file'] as const;

export type TokenStorage = (typeof TOKEN_STORAGES)[number];

interface StorageDeps {
  readonly config: { readonly directory: string };
  /** Whether the user can be asked to unlock the keychain. */
  readonly isInteractive: boolean;
  openKeychain(): Promise<Keychain>;
  notice(text: string): Promise<void>;
  warn(text: string): Promise<void>;
}

/** A token to store. */
export interface NewToken {
  readonly profileName: string;
  readonly baseUrl: string;
  readonly token: string;
  /** The storage that the user chose. */
  readonly chosen: TokenStorage | undefined;
  /** The profile before the change. */
  readonly stored: Profile | undefined;
}

/** Includes the service, so that a profile of the same name for another service never gets the token. */
function accountOf({ profileName, baseUrl }: NewToken, directory: string): string {
  return `${profileName} ${baseUrl} (${resolve(directory)})`;
}

/**
 * Stores a token in the keychain, or leaves it to the profile. By default, uses the keychain at a terminal, where the user can
 * unlock it, and if the profile's token is already there.
 * @returns the fields to store in the profile
 * @throws CredentialsError if the keychain must be used, and cannot be
 */
export async function storeToken(
  { config, isInteractive, openKeychain, notice }: StorageDeps,
  newToken: NewToken,
): Promise<Pick<Profile, 'token' | 'keychain_account'>> {
  const { profileName, token, chosen, stored } = newToken;
  const isRequired = (chosen ?? (stored?.keychain_account === undefined ? undefined : 'keychain')) === 'keychain';
  if (chosen === 'file' || !(isRequired || isInteractive)) return { token };
  const account = accountOf(newToken, config.directory);
  try {
    await (await openKeychain()).set(account, token);
    return { keychain_account: account };
  } catch (error) {
    if (!(error instanceof KeychainUnavailable)) throw error;
    if (!isRequired) {
      await notice(
        `note: the token is kept in ${profilesPath(config.directory)}. The keychain cannot be used. ${error.message}`,
      );
      return { token };
    }
    const login = shellCommand(['login', '--token-storage', 'file'], { profile: profileName });
    throw new CredentialsError('The token cannot be stored in the keychain.', {
      why: error.message,
      hint: `Nothing was stored. To keep the token in the profile's file instead: ${login}`,
      cause: error,
    });
  }
}

/** Removes a replaced token from the keychain. Warns if that fails. */
export async function removeReplaced(
  { openKeychain, warn }: Pick<StorageDeps, 'openKeychain' | 'warn'>,
  account: string,
): Promise<void> {
  try {
    await (await openKeychain()).remove(account);
  } catch (error) {
    if (!(error instanceof KeychainUnavailable)) throw error;
    await warn(
      `The replaced token stays in the keychain, as ${JSON.stringify(account)} of partnerctl. ${error.message}`,
    );
  }
}

/** Removes the token of a profile from the keychain, if it is there. @throws CredentialsError if the keychain cannot be used */
export async function removeToken(
  { openKeychain }: Pick<StorageDeps, 'openKeychain'>,
  profileName: string,
  { keychain_account: account }: Profile,
): Promise<void> {
  if (account === undefined) return;
  try {
    await (await openKeychain()).remove(account);
  } catch (error) {
    if (!(error instanceof KeychainUnavailable)) throw error;
    const login = shellCommand(['login', '--token-storage', 'file', '--no-verify'], { profile: profileName });
    throw new CredentialsError(`The token of ${nameProfile(profileName)} cannot be removed from the keychain.`, {
      why: error.message,
      hint: `Nothing was changed. Unlock the keychain, and run the command again. If the keychain is lost, first store another token: ${login}`,
      cause: error,
    });
  }
}
