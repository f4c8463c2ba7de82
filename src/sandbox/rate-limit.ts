import type { RateLimit } from './settings.ts';

interface Window {
  readonly endsAt: number;
  used: number;
}

/** Counts each token's requests in fixed windows. The first request of a token starts its window. */
export class RateLimiter {
  readonly #windows = new Map<string, Window>();

  /**
   * Counts one request.
   * @param now milliseconds since the epoch
   * @returns when the token may retry (milliseconds since the epoch); undefined when the request is allowed
   */
  take(tokenId: string, limit: RateLimit, now: number): number | undefined {
    let window = this.#windows.get(tokenId);
    if (!window || now >= window.endsAt) {
      window = { endsAt: now + limit.per_seconds * 1000, used: 0 };
      this.#windows.set(tokenId, window);
    }
    if (window.used >= limit.requests) return window.endsAt;
    window.used += 1;
    return undefined;
  }

  clear(): void {
    this.#windows.clear();
  }
}

/**
 * The headers of a 429 (spec §7). Retry-After is rounded up, so that a client that obeys it is not too early.
 * @param now milliseconds since the epoch
 * @param retryAt milliseconds since the epoch
 */
export function retryAfterHeaders(
  form: RateLimit['retry_after'],
  now: number,
  retryAt: number,
): Record<string, string> {
  if (form === 'none') return {};
  if (form === 'seconds') return { 'Retry-After': String(Math.max(1, Math.ceil((retryAt - now) / 1000))) };
  return { 'Retry-After': new Date(Math.ceil(retryAt / 1000) * 1000).toUTCString() };
}
