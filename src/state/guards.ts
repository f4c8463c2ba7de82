import { isJsonObject } from '../contract/json.ts';
import type { Owner } from '../cron/history.ts';

/** What the fields of a record may be, once its checksum has shown that they are as they were written. */
export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** A text, or null where there is none. */
export function isTextOrNull(value: unknown): value is string | null {
  return value === null || isText(value);
}

/** A list of texts. */
export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

/** The process that made a record. */
export function isOwner(value: unknown): value is Owner {
  return isJsonObject(value) && isText(value.machine) && typeof value.pid === 'number' && isTextOrNull(value.started);
}
