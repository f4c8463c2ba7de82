import type { Args } from '../cli/command.ts';
import { UsageError } from '../errors.ts';

/** The parsed global flags. An optional flag that is not set is absent. */
export interface GlobalFlags {
  readonly profile?: string;
  readonly baseUrl?: string;
  readonly tokenFile?: string;
  readonly output?: string;
  readonly query?: string;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly debug: boolean;
  readonly color: string;
  /** Whether questions are allowed: false with --no-input. */
  readonly input: boolean;
  /** The time limit of the whole command in milliseconds. */
  readonly timeoutMs?: number;
  readonly retries?: number;
  readonly state?: string;
  /** Whether tables shorten nothing. */
  readonly wide: boolean;
}

const NEVER_EMPTY = ['profile', 'base-url', 'token-file', 'query'];

/** Parses the global flags. @throws UsageError for an empty flag, and for an invalid --timeout or --retries */
export function parseGlobalFlags(args: Args): GlobalFlags {
  const empty = NEVER_EMPTY.find((flag) => args.value(flag) === '');
  if (empty) throw new UsageError(`--${empty} is empty.`, { hint: 'Check the shell variable it comes from.' });
  const timeoutMs = args.duration('timeout');
  const texts = {
    profile: args.value('profile'),
    baseUrl: args.value('base-url'),
    tokenFile: args.value('token-file'),
    output: args.value('output'),
    query: args.value('query'),
    state: args.value('state'),
  };
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined)),
    quiet: args.isSet('quiet'),
    verbose: args.isSet('verbose'),
    debug: args.isSet('debug'),
    color: args.value('color') ?? 'auto',
    input: args.isSet('input'),
    wide: args.isSet('wide'),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(args.value('retries') !== undefined && { retries: args.count('retries', { min: 0, max: 20, fallback: 3 }) }),
  };
}
