import type { Words } from '../cli/command.ts';
import { UsageError } from '../errors.ts';
import { parseDuration } from './duration.ts';
import type { GlobalFlags } from './settings.ts';

/** A flag's value in milliseconds, more than none. @throws UsageError that names the flag */
export function duration(words: Words, flag: string): number | undefined {
  const text = words.text(flag);
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new UsageError(`--${flag} takes a duration such as 500ms, 30s, 2m or 1h, not ${JSON.stringify(text)}.`);
}

/** The global flags out of the words typed. @throws UsageError */
export function globalFlags(words: Words): GlobalFlags {
  const timeoutMs = duration(words, 'timeout');
  const texts = {
    profile: words.text('profile'),
    baseUrl: words.text('base-url'),
    tokenFile: words.text('token-file'),
    output: words.text('output'),
    query: words.text('query'),
    state: words.text('state'),
  };
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined)),
    quiet: words.on('quiet'),
    verbose: words.on('verbose'),
    debug: words.on('debug'),
    color: words.text('color') ?? 'auto',
    input: words.on('input'),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(words.text('retries') !== undefined && { retries: words.count('retries', { min: 0, max: 20, fallback: 3 }) }),
  };
}
