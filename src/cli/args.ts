import { UsageError } from '../errors.ts';
import type { Args, TypedValue } from './command.ts';
import { parseDuration } from './options.ts';

/** Parsed flag values, keyed by the flag's camel-case name. */
export type FlagValues = Readonly<Record<string, unknown>>;

function camelCase(flag: string): string {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Wraps parsed arguments in the `Args` interface.
 * @param typed the values of repeatable flags, in the order typed
 */
export function createArgs(positionals: readonly string[], flags: FlagValues, typed: readonly TypedValue[] = []): Args {
  const value = (flag: string): string | undefined => {
    const found = flags[camelCase(flag)];
    return typeof found === 'string' ? found : undefined;
  };
  return {
    positionals,
    isSet: (flag) => flags[camelCase(flag)] === true,
    value,
    nonEmpty(flag) {
      const text = value(flag);
      if (text !== '') return text;
      throw new UsageError(`--${flag} is empty.`, { hint: 'Check the shell variable it comes from.' });
    },
    required(flag, hint) {
      const text = value(flag);
      if (text) return text;
      throw new UsageError(text === '' ? `--${flag} is empty.` : `--${flag} is missing.`, { hint });
    },
    values(flag) {
      const found = flags[camelCase(flag)];
      return Array.isArray(found) ? found.filter((item) => typeof item === 'string') : [];
    },
    inOrder: (wanted) => typed.filter(({ flag }) => wanted.includes(flag)),
    count(flag, { min, max, fallback }) {
      const text = value(flag);
      if (text === undefined) return fallback;
      const number = Number(text);
      if (/^\d+$/.test(text) && number >= min && number <= max) return number;
      throw new UsageError(`--${flag} takes a whole number from ${min} to ${max}, not ${JSON.stringify(text)}.`);
    },
    duration(flag) {
      const text = value(flag);
      if (text === undefined) return undefined;
      const duration = parseDuration(text);
      if (duration !== undefined && duration > 0) return duration;
      throw new UsageError(`--${flag} takes a duration such as 500ms, 30s, 2m, or 1h, not ${JSON.stringify(text)}.`);
    },
  };
}
