import type { Readable } from 'node:stream';
import type { Http } from '../api/http.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../state/log.ts';

export interface CronContext {
  readonly clock: Clock;
  readonly abortSignal: AbortSignal;
  readonly isInteractive: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly io: { readonly stdin: Readable };
  /** Shows what is being done, with a countdown if `limitMs` is given. Whoever called the feature stops it. */
  readonly progress: {
    start(text: string, limitMs?: number): void;
    countdown(ms: number, format: (left: string) => string): void;
    stop(): void;
  };
  http(): Promise<Http>;
  log(): Promise<Log>;
  /** The base URL of the service; undefined if none is configured. */
  baseUrl(): Promise<string | undefined>;
  warn(text: string): Promise<void>;
  confirm(question: string): Promise<boolean>;
  /** Returns the command line to type, with the global flags that this command was given. */
  command(words: readonly string[]): string;
}
