import { isJsonObject, type JsonObject } from '../contract/json.ts';
import type { CacheStatus } from './cache.ts';

/** Parses a JSON object. @returns an empty object for any other text */
export function parseJsonObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Parses the status of a cache. A missing or damaged status counts as never refreshed. */
export function parseStatus(text: string): CacheStatus {
  const { at, tookMs, failures, spaces } = parseJsonObject(text);
  const toNumber = (value: unknown): number => (typeof value === 'number' ? value : 0);
  return {
    at: toNumber(at),
    tookMs: toNumber(tookMs),
    failures: toNumber(failures),
    spaces: Array.isArray(spaces) ? spaces : [],
  };
}
