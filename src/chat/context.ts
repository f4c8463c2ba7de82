import { dirname } from 'node:path';
import type { Http } from '../api/http.ts';
import type { Clock } from '../platform/clock.ts';
import type { FollowDeps } from './follow-session.ts';
import { Places } from './places.ts';
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
  notice(text: string): Promise<void>;
  warn(text: string): Promise<void>;
}

/** Returns what following needs. @param limitMs limits it beside --timeout */
export function followDeps(context: ChatContext, http: Http, limitMs = Number.POSITIVE_INFINITY): FollowDeps {
  const { clock, random, signals, flags } = context;
  const endsAt = clock.now() + limitMs;
  const ofCommand = () => (flags.timeout === undefined ? Number.POSITIVE_INFINITY : http.remainingMs());
  const remainingMs = () => Math.min(endsAt - clock.now(), ofCommand());
  return { http, clock, random, signal: signals.interrupt, remainingMs };
}

/**
 * Opens the sessions that this machine knows.
 * @param warn where to say that they cannot be recorded
 * @throws UsageError if the address of the state is invalid
 */
export async function openPlaces(context: ChatContext, http: Http, warn = context.warn): Promise<Places> {
  return new Places(dirname(await context.statePath()), http.baseUrl, { redact: context.redact, warn });
}
