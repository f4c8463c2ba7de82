import ms, { type StringValue } from 'ms';
import type { Args } from '../cli/command.ts';
import { UsageError } from '../errors.ts';
import type { GlobalFlags } from './settings.ts';

/** A flag's value in milliseconds, more than none. @throws UsageError that names the flag */
export function duration(words: Args, flag: string): number | undefined {
  const text = words.value(flag);
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new UsageError(`--${flag} takes a duration such as 500ms, 30s, 2m or 1h, not ${JSON.stringify(text)}.`);
}

/** The global flags out of the words typed. @throws UsageError */
export function globalFlags(words: Args): GlobalFlags {
  const timeoutMs = duration(words, 'timeout');
  const texts = {
    profile: words.value('profile'),
    baseUrl: words.value('base-url'),
    tokenFile: words.value('token-file'),
    output: words.value('output'),
    query: words.value('query'),
    state: words.value('state'),
  };
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined)),
    quiet: words.isSet('quiet'),
    verbose: words.isSet('verbose'),
    debug: words.isSet('debug'),
    color: words.value('color') ?? 'auto',
    input: words.isSet('input'),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(words.value('retries') !== undefined && { retries: words.count('retries', { min: 0, max: 20, fallback: 3 }) }),
  };
}

/**
 * A duration as people type it: `500ms`, `30s`, `2m`, `1h`; fractions are allowed.
 * @returns milliseconds, or undefined for anything else
 */
export function parseDuration(text: string): number | undefined {
  return isDuration(text) ? ms(text) : undefined;
}

function isDuration(text: string): text is StringValue {
  return /^\d+(\.\d+)?(ms|s|m|h)$/.test(text);
}
