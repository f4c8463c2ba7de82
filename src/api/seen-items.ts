import { type JsonObject, jsonText } from '../contract/json.ts';

/** The items of a list that were read. Holds a fingerprint of each, not the item. */
export class SeenItems {
  private readonly idOf: (item: JsonObject) => string | undefined;
  private readonly fingerprints = new Set<number>();

  /** @param idOf returns undefined for an item that only its whole content identifies */
  constructor(idOf: (item: JsonObject) => string | undefined) {
    this.idOf = idOf;
  }

  /** Adds items. @returns those that were not there before */
  add(items: readonly JsonObject[]): readonly JsonObject[] {
    const keys = items.map((item) => this.identify(item));
    const fresh = items.filter((_, index) => !this.fingerprints.has(keys[index] ?? 0));
    for (const key of keys) this.fingerprints.add(key);
    return fresh;
  }

  has(item: JsonObject): boolean {
    return this.fingerprints.has(this.identify(item));
  }

  private identify(item: JsonObject): number {
    return fingerprint(this.idOf(item) ?? jsonText(item));
  }
}

/** Returns a 53-bit hash. */
function fingerprint(text: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}
