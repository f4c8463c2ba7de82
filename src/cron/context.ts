import type { Readable } from 'node:stream';
import type { Http } from '../api/http.ts';
import type { SettingsContext } from '../config/settings.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../state/log.ts';

export interface CronContext extends SettingsContext {
  readonly clock: Clock;
  readonly abortSignal: AbortSignal;
  /** Without `confirm`, nobody can be asked. */
  readonly prompts: { readonly confirm: ((question: string) => Promise<boolean>) | undefined };
  readonly io: { readonly stdin: Readable };
  /** Shows what is being done, with a countdown if `limitMs` is given. Whoever called the feature stops it. */
  readonly progress: {
    start(text: string, limitMs?: number): void;
    countdown(ms: number, format: (left: string) => string): void;
    stop(): void;
  };
  http(): Promise<Http>;
  log(): Promise<Log>;
  notice(text: string): Promise<void>;
  warn(text: string): Promise<void>;
  /** Returns the command line to type, with the global flags that this command was given. */
  command(words: readonly string[]): string;
}
