import { UsageError } from '../errors.ts';
import type { StateLocation } from './location.ts';

/** A branch of a git repository. */
export interface GitTarget {
  /** The address without a password. */
  readonly label: string;
  /** The URL for git. */
  readonly url: string;
  readonly branch: string;
}

/** Reads `git+ssh://host/path#branch`. @throws UsageError if a part of it is not valid */
export function gitTarget({ address, password }: Pick<StateLocation, 'address' | 'password'>): GitTarget {
  const url = new URL(address);
  const branch = decodeURIComponent(url.hash.slice(1)) || 'partnerctl-state';
  // The rules of `git check-ref-format`.
  if (!/^[A-Za-z0-9_][A-Za-z0-9_./-]*$/.test(branch) || /\.\.|\/\/|\/$|\.$|\.lock(\/|$)|\/\./.test(branch)) {
    throw new UsageError(`${JSON.stringify(branch)} is not the name of a branch.`, {
      hint: 'Put the branch behind #, for example: git+ssh://git@host/path.git#partnerctl-state',
    });
  }
  // ssh would read them as options.
  if ([url.hostname, decodeURIComponent(url.username)].some((name) => name.startsWith('-'))) {
    throw new UsageError('The host and the user in the address of the state must not start with "-".', {
      hint: 'For example: git+ssh://git@host/path.git#branch',
    });
  }
  if (password !== undefined) {
    throw new UsageError('The address of the state must not hold a password for git.', {
      hint: 'git keeps passwords in its credential helper: git help credentials',
    });
  }
  url.hash = '';
  return { label: address, url: url.href.replace(/^git\+/, ''), branch };
}
