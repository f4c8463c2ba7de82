import type { Environment, Sink } from '../cli/io.ts';

/**
 * Whether what goes to a sink is coloured: --color decides, then NO_COLOR, then FORCE_COLOR, then whether it is a
 * terminal that can show colours.
 */
export function wantsColor(choice: string, env: Environment, sink: Sink): boolean {
  if (choice !== 'auto') return choice === 'always';
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return sink.isTTY && env.TERM !== 'dumb';
}
