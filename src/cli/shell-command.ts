import type { GlobalFlags } from '../config/global-flags.ts';
import { shellQuote } from '../platform/shell-quote.ts';

/**
 * Formats a partnerctl command line to paste into a shell. Includes the global flags that select the service and the
 * state file.
 * @param operands the last arguments; they may start with `-`
 */
export function shellCommand(
  args: readonly string[],
  { profile, baseUrl, tokenFile, state }: Pick<GlobalFlags, 'profile' | 'baseUrl' | 'tokenFile' | 'state'>,
  operands: readonly string[] = [],
): string {
  const flags = { '--profile': profile, '--base-url': baseUrl, '--token-file': tokenFile, '--state': state };
  const globalArgs = Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
  const needsSeparator = operands.some((operand) => /^-./.test(operand));
  const all = ['partnerctl', ...args, ...globalArgs, ...(needsSeparator ? ['--'] : []), ...operands];
  return all.map(shellQuote).join(' ');
}
