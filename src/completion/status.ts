import type { CacheStatus } from './cache.ts';

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a JSON object. @returns an empty object for any other text */
export function parseRecord(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

/** Parses the status of a cache. A missing or damaged status counts as never refreshed. */
export function parseStatus(text: string): CacheStatus {
  const { at, tookMs, failures, spaces } = parseRecord(text);
  const toNumber = (value: unknown): number => (typeof value === 'number' ? value : 0);
  return {
    at: toNumber(at),
    tookMs: toNumber(tookMs),
    failures: toNumber(failures),
    spaces: Array.isArray(spaces) ? spaces : [],
  };
}
