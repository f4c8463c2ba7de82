import type { RateLimit } from './settings.ts';

interface Window {
  readonly endsAt: number;
  used: number;
}

/** Counts each token's requests in fixed windows that begin with the token's first request. */
export class RateLimiter {
  readonly #windows = new Map<string, Window>();

  /**
   * Counts one request.
   * @param now milliseconds since the epoch.
   * @returns the moment (ms since the epoch) at which the token may come back, or undefined when the request may pass.
   */
  take(tokenId: string, limit: RateLimit | null, now: number): number | undefined {
    if (!limit) {
      this.#windows.delete(tokenId);
      return undefined;
    }
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
 * The Retry-After header of a 429 (spec §7), rounded up to the second so that a caller who obeys is not early.
 * @param now milliseconds since the epoch.
 * @param comeBackAt milliseconds since the epoch.
 */
export function retryAfter(form: RateLimit['retry_after'], now: number, comeBackAt: number): string | undefined {
  if (form === 'none') return undefined;
  if (form === 'seconds') return String(Math.max(1, Math.ceil((comeBackAt - now) / 1000)));
  return new Date(Math.ceil(comeBackAt / 1000) * 1000).toUTCString();
}
