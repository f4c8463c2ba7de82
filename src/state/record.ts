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
const SUM = /,"sum":"([0-9a-f]{16})"\}$/;
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

/** Decodes a line that is not empty. Lines of version 1 state no length. */
export function decode(line: string): Line {
  const [end, sum] = SUM.exec(line) ?? [];
  if (end === undefined) {
    if (/^(<{7}|\|{7}|={7}|>{7})( |$)/.test(line)) return damaged('a merge conflict marker');
    return isTorn(line) ? { kind: 'torn' } : damaged('not a whole record');
  }
  if (sum !== checksum(line.slice(0, -end.length))) return damaged('changed after it was written');
  // What has a checksum is JSON.
  const parsed: unknown = JSON.parse(line);
  const { v, bytes: _bytes, sum: _sum, ...record } = isJsonObject(parsed) ? parsed : {};
  if (typeof v === 'number' && v > VERSION) return damaged(`written by a newer version of partnerctl (format ${v})`);
  const { type, at, id } = record;
  if (typeof type !== 'string' || typeof at !== 'string' || typeof id !== 'string') return damaged('not a record');
  const known = { ...record, type, at, id };
  return { kind: 'record', record: v === VERSION ? known : fromVersion1(known) };
}

/** What version 1 called the kinds of records, and the fields for a reservation and an id at the service. */
const VERSION_1 = new Map([
  ['cron', { kinds: { adopted: 'created' }, of: 'reservation', object: 'cron_job_id' }],
  ['upload', { kinds: { sent: 'reserved', done: 'created', adopted: 'created' }, of: 'sent', object: 'upload_id' }],
]);

/** Converts what version 1 recorded of jobs and uploads. Leaves other records as they are: nobody reads them. */
function fromVersion1(record: LogRecord): LogRecord {
  const [feature = '', old = ''] = record.type.split('.');
  const form = VERSION_1.get(feature);
  if (!form) return record;
  const kind = new Map(Object.entries(form.kinds)).get(old) ?? old;
  const { type: _type, at, id, by, key, seen, records, owner: _owner, until: _until, why: _why, ...rest } = record;
  const { [form.of]: reservation, [form.object]: object, ...data } = rest;
  const of = kind === 'forgotten' ? records : reservation;
  return { type: `${feature}.${kind}`, at, id, key, data, seen, object, of, by };
}
