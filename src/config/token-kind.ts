import type { Profile } from './profiles.ts';

/** What a profile holds in place of showing it: a stored token, a command that prints one, or none. */
export function tokenKind({ token, token_command }: Profile): 'stored' | 'command' | 'none' {
  if (token_command !== undefined) return 'command';
  return token === undefined ? 'none' : 'stored';
}
