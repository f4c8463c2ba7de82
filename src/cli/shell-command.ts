import type { GlobalFlags } from '../config/settings.ts';

/** A word as a POSIX shell has to be given it. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function given(flags: readonly (readonly [string, string | undefined])[]): string[] {
  return flags.flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
}

/**
 * A command line that reaches the same service in the same way, ready to be pasted into a shell.
 * @param operands what comes last; they may look like flags
 */
export function shellCommand(
  words: readonly string[],
  { profile, baseUrl, tokenFile, state }: GlobalFlags,
  operands: readonly string[] = [],
): string {
  const globals = given([
    ['--profile', profile],
    ['--base-url', baseUrl],
    ['--token-file', tokenFile],
    ['--state', state],
  ]);
  const parted = operands.some((operand) => /^-./.test(operand)) ? ['--', ...operands] : operands;
  return ['partnerctl', ...words, ...globals, ...parted].map(shellWord).join(' ');
}
