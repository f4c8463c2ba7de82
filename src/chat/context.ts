import type { Http } from '../api/http.ts';
import type { Clock } from '../platform/clock.ts';
import type { FormatCommand } from './source.ts';

/** What a conversation needs of a command. */
export interface ChatContext {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signals: { readonly interrupt: AbortSignal };
  /** Aborts at an interrupt, and when the time of the command is up. */
  readonly abortSignal: AbortSignal;
  readonly flags: { readonly timeout?: number };
  readonly progress: { start(text: string, limitMs?: number): void; update(text: string): void };
  readonly command: FormatCommand;
  http(): Promise<Http>;
  statePath(): Promise<string>;
  redact(text: string): string;
  warn(text: string): Promise<void>;
}
