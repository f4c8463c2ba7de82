import { hash } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../contract/json.ts';

/*
 * A record is one line of JSON. It begins with its version and its length, and ends with a checksum of
 * everything before it:
 *
 *   {"v":2,"bytes":<length of what follows the comma>,"type":…,"at":…,"id":…,…,"sum":"<16 hex digits>"}
 *
 * A line that is shorter than it says is what a killed or failed write left. That write was never acknowledged, so
 * nothing was sent on its account: the line is torn, and ignored. A line whose end is intact is never torn, so that a
 * damaged length does not hide a record.
 */

/** A record of the log. Its head has been checked; its other fields may have any value. */
export type LogRecord = JsonObject & {
  /** The feature and what happened: `cron.reserved`. */
  readonly type: string;
  /** ISO 8601, for people: no decision depends on it. */
  readonly at: string;
  /** Random. A record that the log has twice counts where it stands first. */
  readonly id: string;
};

export type Line =
  | { readonly kind: 'record'; readonly record: LogRecord }
  | { readonly kind: 'torn' }
  | { readonly kind: 'damaged'; readonly why: string };

const VERSION = 2;
const HEAD = `{"v":${VERSION},"bytes":`;
const SUM = /^,"sum":"([0-9a-f]{16})"\}$/;
const SUM_LENGTH = ',"sum":"0123456789abcdef"}'.length;

function checksum(covered: string): string {
  return hash('sha256', covered, 'hex').slice(0, 16);
}

/** Encodes a record as a line, without the line ending. */
export function encode(record: LogRecord): string {
  const fields = JSON.stringify(record).slice(1, -1);
  const covered = `${HEAD}${Buffer.byteLength(fields) + SUM_LENGTH},${fields}`;
  return `${covered},"sum":"${checksum(covered)}"}`;
}

/** Whether a line is the beginning of a longer one. Expects that its end is not intact. */
function isTorn(line: string): boolean {
  const [start, bytes, comma, fields = ''] = /^\{"v":2,"bytes":(\d*)(,?)(.*)$/s.exec(line) ?? [];
  if (start === undefined) return HEAD.startsWith(line);
  return comma === '' ? fields === '' : bytes !== '' && Buffer.byteLength(fields) < Number(bytes);
}

function damaged(why: string): Line {
  return { kind: 'damaged', why };
}

/** Decodes a line that is not empty. */
export function decode(line: string): Line {
  const [end, sum] = SUM.exec(line.slice(-SUM_LENGTH)) ?? [];
  if (end === undefined) {
    if (/^(<{7}|\|{7}|={7}|>{7})( |$)/.test(line)) return damaged('a merge conflict marker');
    return isTorn(line) ? { kind: 'torn' } : damaged('not a whole record');
  }
  if (sum !== checksum(line.slice(0, -SUM_LENGTH))) return damaged('changed after it was written');
  // What has a checksum is JSON.
  const parsed: unknown = JSON.parse(line);
  const { v, bytes, sum: _, ...record } = isJsonObject(parsed) ? parsed : {};
  if (Number(v) > VERSION) return damaged(`written by a newer version of partnerctl (format ${v})`);
  if (Number(v) < VERSION) return damaged(`written in a format that was never released (${v})`);
  return typeof bytes === 'number' && isRecord(record) ? { kind: 'record', record } : damaged('not a record');
}

function isRecord(fields: JsonObject): fields is LogRecord {
  return [fields.type, fields.at, fields.id].every((field) => typeof field === 'string');
}
